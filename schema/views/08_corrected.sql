-- Known errors of units, corrected in a view. Stored values stay as printed.

-- iterations_corrected: logged intervals with the known errors of units corrected, each with its reason.
-- iterations_corrected.run_id: the run
-- iterations_corrected.segment: 1, 2, ... after each restart
-- iterations_corrected.iteration: last iteration of the interval
-- iterations_corrected.line: line of the log, from 1
-- iterations_corrected.step_time_s: time of one step in s; DeepSpeed 0.6.2 and 0.6.3 print ms as s in lines of the pipeline engine
-- iterations_corrected.samples_per_s: sequences/s of the job; BigScience printed a thousandth from 2021-12-06 to 2022-01-28, DeepSpeed 0.3.0 a part by its steps_per_print
-- iterations_corrected.tflops: TFLOP/s per process; BigScience printed a thousandfold from 2021-12-06 to 2022-01-05
-- iterations_corrected.correction: the correction and its reason; NULL: none
CREATE OR REPLACE VIEW iterations_corrected AS
WITH versions AS (
    SELECT run_id, bool_or(regexp_matches(raw, '^0\.6\.[23]($|[^0-9])')) AS ms_as_s,
        bool_or(regexp_matches(raw, '^0\.3\.0($|[^0-9])')) AS whole_interval
    FROM facts WHERE field = 'deepspeed_version' GROUP BY run_id
), judged AS (
    SELECT i.*,
        -- Only the pipeline engine's line: a line of Megatron would have its own time.
        coalesce(v.ms_as_s, false) AND i.consumed_samples IS NULL AND i.step_time_s IS NOT NULL AS pipeline,
        -- 0.3.0 divides the samples of one step by the time of all steps between two lines.
        CASE WHEN v.whole_interval AND i.consumed_samples IS NULL AND i.samples_per_s IS NOT NULL AND i.step_time_s IS NOT NULL
             THEN coalesce(i.interval_length, max(i.interval_length) OVER (PARTITION BY i.run_id)) END AS steps,
        -- Three decimals are printed: half of the last one, and the 2% that two roundings may differ.
        coalesce(i.consumed_tokens IS NOT NULL AND i.samples_per_s > 0 AND i.step_time_s > 0
            AND abs(i.samples_per_s * 1000 - i.gbs / i.step_time_s) <= 0.5 + 0.02 * i.gbs / i.step_time_s
            AND abs(i.samples_per_s - i.gbs / i.step_time_s) > 0.5 * i.gbs / i.step_time_s, false) AS thousandth
    FROM iterations i LEFT JOIN versions v USING (run_id)
)
SELECT run_id, segment, iteration, line,
    CASE WHEN pipeline THEN step_time_s / 1000 ELSE step_time_s END AS step_time_s,
    CASE WHEN pipeline OR thousandth THEN samples_per_s * 1000
         ELSE samples_per_s * coalesce(steps, 1) END AS samples_per_s,
    -- In the first month TFLOPs were wrong too; no device of that time reaches 1000 TFLOP/s.
    CASE WHEN thousandth AND tflops > 1000 THEN tflops / 1000 ELSE tflops END AS tflops,
    CASE WHEN pipeline THEN 'iter time (s) is in ms, samples/sec in samples/ms: DeepSpeed 0.6.2 and 0.6.3'
         WHEN thousandth AND tflops > 1000
         THEN 'samples per second a thousandth, TFLOPs a thousandfold: BigScience, December 2021'
         WHEN steps > 1 THEN 'samples/sec of one step over the time of all between two lines: DeepSpeed 0.3.0'
         WHEN thousandth THEN 'samples per second a thousandth: BigScience, December 2021 to January 2022'
    END AS correction
FROM judged;
