-- A size as a label, from 1e9 parameters: 1.3 -> 1.3B, 0.124 -> 124M.
CREATE OR REPLACE MACRO size_label(params_b) AS
    CASE WHEN params_b >= 1 THEN format('{:.10g}B', round(params_b, 3))
         WHEN params_b > 0 THEN format('{:.10g}M', round(params_b * 1000, 3)) END;

-- Three significant digits, as a label would have them: 124.5M -> 124M, 1.3137B -> 1.31B.
CREATE OR REPLACE MACRO significant(x) AS
    floor(x / power(10, floor(log10(nullif(x, 0))) - 2)) * power(10, floor(log10(nullif(x, 0))) - 2);

CREATE OR REPLACE MACRO short_size(params) AS
    size_label(significant(CASE WHEN params > 0 THEN params END) / 1e9);

-- A part of a size label, alone or within a model's name: 1 its whole number, 2 its letter, 3 the digits behind that.
CREATE OR REPLACE MACRO label_part(t, part) AS
    regexp_extract(t, '(?:^|[^a-zA-Z0-9.])(\d+(?:\.\d+)?)\s?([bBmMtT])(\d*)(?:$|[^A-Za-z0-9])', part);

-- Parameters in 1e9 of a size label: 1B3 -> 1.3, Llama3-70B -> 70. Not in a subquery, which takes ten times as long to plan.
CREATE OR REPLACE MACRO label_params_b(t) AS
    round(try_cast(label_part(t, 1) || CASE WHEN label_part(t, 3) <> '' THEN '.' || label_part(t, 3) ELSE '' END AS DOUBLE)
        * CASE upper(label_part(t, 2)) WHEN 'B' THEN 1.0 WHEN 'M' THEN 0.001 WHEN 'T' THEN 1000.0 END, 9);

-- A count as people round it: 250k -> 250000.
CREATE OR REPLACE MACRO rounded_count(t) AS
    CAST(try_cast(regexp_extract(t, '^(\d+(?:\.\d+)?)[kKmM]$', 1) AS DOUBLE)
        * CASE lower(right(t, 1)) WHEN 'k' THEN 1e3 ELSE 1e6 END AS BIGINT);

-- A quotient by a positive number; else NULL, never inf or nan.
CREATE OR REPLACE MACRO per(a, b) AS
    CASE WHEN b > 0 AND isfinite(b) AND isfinite(a / b) THEN a / b END;

-- configurations: runs with topology, and with what the source leaves to convention or arithmetic filled in.
-- configurations.uri: the log or document
-- configurations.params_b: parameters in 1e9, as stated, else by the label
-- configurations.annotated: columns with a value by annotations of users, where the source states none; NULL: none
-- configurations.told: the former name of annotated; the next version drops it
-- configurations.seq_len: sequence length in tokens, as stated, else the same on all lines of a log's steps, printed or computed
-- configurations.seq_len_derived: whether the sequence length comes from those lines
-- configurations.product: DP x TP x PP x CP
-- configurations.gbs: global batch size of the intervals that count, as logged, else as stated, in sequences
-- configurations.gbs_stated: global batch size as stated, in sequences
-- configurations.gbs_logged: batch size of the intervals that count, as the log prints it, in sequences
-- configurations.nodes_stated: nodes as stated
-- configurations.devices_stated: devices as stated
-- configurations.procs_per_node_stated: processes a node as stated
-- configurations.nodes: nodes as stated, else devices / devices per node
-- configurations.devices: devices as stated, else nodes x devices per node
-- configurations.procs_per_node: as stated, else devices per node (stated or divided), else what most rows of the table multiply out to, else 1 where TP x PP divides the nodes of every row, most splits need no more processes than nodes and no device is a machine of several (DGX, HGX)
-- configurations.procs_per_node_rows: where no source states them: the rows of the table that multiply out to these processes a node
-- configurations.vocab_used: vocabulary in tokens, as stated, also if rounded, else GPT-2's 50257 padded (V1)
-- configurations.vocab_assumed: whether the source states no vocabulary
-- configurations.dense: whether no source states a mixture of experts (F5 is valid for dense models only)
-- configurations.plain_mlp: whether formulas for an MLP of 4h without gate are valid (F1 to F7, P1)
-- configurations.world_size: processes: ranks, else devices, else nodes x processes a node, else the product
-- configurations.tokens_per_step: global batch size (logged, stated, MBS x GA x DP, or a batch a device x GA x devices) x sequence length, in tokens
-- configurations.params_computed: parameters by P1
-- configurations.params_without_embedding: parameters by P1N
-- configurations.size: size label: as stated, else three digits of the parameters
-- Derivations of these columns in `bench explain`: see schema/derivation.py.
-- nodes from: stated | when nodes_stated IS NOT NULL OR nodes IS NULL
-- nodes from: devices / devices_per_node
-- devices from: stated | when devices_stated IS NOT NULL OR devices IS NULL
-- devices from: nodes x devices_per_node
-- procs_per_node from: stated | when procs_per_node_stated IS NOT NULL
-- procs_per_node from: one process a device | of devices_per_node
-- procs_per_node from: devices / nodes | when devices_stated IS NOT NULL AND nodes_stated > 0
-- procs_per_node from: assumed | note coalesce('DP x TP x PP / nodes of ' || procs_per_node_rows || ' rows of the table, the most', 'none is stated, and TP x PP divides the nodes: one')
-- product from: dp x tp x pp x cp
-- product from: dp x tp x pp
-- world_size from: stated ranks | when ranks IS NOT NULL
-- world_size from: one process a device | of devices
-- world_size from: nodes x procs_per_node
-- world_size from: dp x tp x pp x cp | of product
-- gbs from: printed | when gbs_logged IS NOT NULL AND gbs_stated IS DISTINCT FROM gbs
-- gbs from: stated | when gbs IS NOT NULL OR tokens_per_step IS NULL OR coalesce(seq_len, 0) = 0
-- gbs from: mbs x grad_accum x dp | value tokens_per_step // seq_len
-- gbs from: device_batch x grad_accum (else 1) x devices | of device_batch, devices or world_size, grad_accum? | value tokens_per_step // seq_len
-- tokens_per_step from: gbs x seq_len | when tokens_per_step IS NOT NULL
-- vocab_used from: stated vocab | when vocab IS NOT NULL
-- vocab_used from: stated vocab_label | when NOT vocab_assumed
-- vocab_used from: V1(vocab=50257 "not stated: GPT-2's is assumed", tp)
-- params_computed from: P1(l=layers, h=hidden, v=vocab_used, s=seq_len)
-- params_without_embedding from: P1N(l=layers, h=hidden)
-- params_computed leads: an explanation of its run
-- params_computed prints: parameters, size
-- params_without_embedding prints: parameters
-- tokens_per_step prints: number, tokens
CREATE OR REPLACE VIEW configurations AS
WITH around AS (
    -- Joined to the ids alone: each join of a run's seventy columns would cost as much as all of these.
    SELECT r.load_id, r.run_id, l.uri, u.annotated, u.by_users, g.median AS gbs_logged, q.median AS seq_len_logged
    FROM raw.runs r
    JOIN current_loads l ON l.load_id = r.load_id
    ANTI JOIN hidden_runs h ON h.run_id = r.run_id
    LEFT JOIN (
        SELECT run_id, map(list(field), list(value)) AS annotated, list_sort(list(field) FILTER (origin <> 'bundle')) AS by_users
        FROM (  -- one of each field: a file of others may have more, of which no map can be made
            FROM annotations WHERE field <> 'boundary' AND outcome = 'counts'
            QUALIFY row_number() OVER (PARTITION BY run_id, field ORDER BY value) = 1
        ) GROUP BY run_id
    ) u ON u.run_id = r.run_id
    LEFT JOIN superseded_steps d ON d.run_id = r.run_id
    LEFT JOIN raw.run_stats g ON g.load_id = l.shown_by AND g.run_id = r.run_id AND g.metric = 'gbs'
        AND g.redone_from IS NOT DISTINCT FROM d.iteration
    -- One whole number on all lines that count.
    LEFT JOIN raw.run_stats q ON q.load_id = l.shown_by AND q.run_id = r.run_id AND q.metric = 'seq_len'
        AND q.redone_from IS NOT DISTINCT FROM d.iteration AND q.min = q.max AND q.min = floor(q.min)
), stated AS (
    -- Annotations by users and sidecar files count where the source states nothing.
    SELECT u.uri, r.* EXCLUDE (load_id) REPLACE (
            {{annotated runs as r, but params_b, seq_len}}
            coalesce(r.params_b, label_params_b(r.model), try_cast(u.annotated['params_b'] AS DOUBLE), label_params_b(u.annotated['model']))
                AS params_b,
            coalesce(r.seq_len, try_cast(u.annotated['seq_len'] AS INTEGER), try_cast(u.seq_len_logged AS INTEGER)) AS seq_len),
        t.* EXCLUDE (load_id, run_id) REPLACE (
            {{annotated topology as t, but gbs}}
            coalesce(try_cast(u.gbs_logged AS INTEGER), t.gbs, try_cast(u.annotated['gbs'] AS INTEGER)) AS gbs),
        u.by_users AS annotated, u.by_users AS told,
        t.gbs AS gbs_stated, u.gbs_logged,
        u.seq_len_logged IS NOT NULL AND coalesce(r.seq_len, try_cast(u.annotated['seq_len'] AS INTEGER)) IS NULL AS seq_len_derived
    FROM judged_runs r
    JOIN around u ON u.load_id = r.load_id AND u.run_id = r.run_id
    LEFT JOIN raw.topology t ON t.load_id = r.load_id AND t.run_id = r.run_id
), multiplied AS (
    SELECT *, try_cast(dp::HUGEINT * tp * pp * coalesce(cp, 1) AS BIGINT) AS product FROM stated
), implied AS (
    -- Processes per node where no source states them: by the products of most rows of the table.
    SELECT table_id, product // nullif(nodes, 0) AS implied_per_node, count(*) AS rows
    FROM multiplied
    WHERE product % nullif(nodes, 0) = 0 AND product > 0
        AND procs_per_node IS NULL AND devices_per_node IS NULL AND table_id IS NOT NULL
    GROUP BY table_id, implied_per_node
    QUALIFY row_number() OVER (PARTITION BY table_id ORDER BY count(*) DESC, implied_per_node) = 1
), not_one AS (
    -- Tables in which a row's split would not fit on one process a node.
    SELECT DISTINCT table_id FROM multiplied
    WHERE nodes % nullif(coalesce(tp, 1)::HUGEINT * coalesce(pp, 1) * coalesce(cp, 1), 0) <> 0
        AND procs_per_node IS NULL AND devices_per_node IS NULL AND devices IS NULL
    UNION
    -- And those in which most splits need more processes than there are nodes; a single one may be a slip.
    SELECT table_id FROM multiplied
    WHERE procs_per_node IS NULL AND devices_per_node IS NULL AND devices IS NULL AND dp IS NOT NULL AND nodes > 0
    GROUP BY table_id
    HAVING 2 * count(*) FILTER (dp::HUGEINT * coalesce(tp, 1) * coalesce(pp, 1) * coalesce(cp, 1) > nodes) > count(*)
), printed_work AS (
    -- Of the rates that a row prints; of the job's tokens the devices have to be known.
    SELECT run_id, per(any_value(value) FILTER (metric = 'tflops') * 1e12,
               coalesce(any_value(value) FILTER (metric = 'tokens_per_s_per_device'),
                        any_value(value) FILTER (metric = 'tokens_per_s' AND scope = 'job'))) AS flops_per_token,
        NOT bool_or(metric = 'tokens_per_s_per_device') AS of_job
    FROM measurements WHERE metric IN ('tflops', 'tokens_per_s', 'tokens_per_s_per_device') GROUP BY run_id
), filled AS (
    SELECT s.* EXCLUDE (nodes, devices, procs_per_node),
        s.nodes AS nodes_stated, s.devices AS devices_stated, s.procs_per_node AS procs_per_node_stated,
        coalesce(s.nodes, CASE WHEN s.devices % nullif(s.devices_per_node, 0) = 0
                               THEN s.devices // nullif(s.devices_per_node, 0) END)::BIGINT AS nodes,
        coalesce(s.devices, s.nodes::BIGINT * s.devices_per_node) AS devices,
        coalesce(s.procs_per_node, s.devices_per_node,
                 CASE WHEN s.devices % nullif(s.nodes, 0) = 0 THEN s.devices // nullif(s.nodes, 0) END, i.implied_per_node,
                 CASE WHEN coalesce(s.nodes % nullif(s.tp::HUGEINT * s.pp * coalesce(s.cp, 1), 0) = 0, s.nodes IS NOT NULL)
                           AND n.table_id IS NULL AND NOT coalesce(list_contains(s.flags, 'machines'), false) AND NOT coalesce(regexp_matches(s.device, '(?i)\b[DH]GX\b'), false)
                      THEN 1 END) AS procs_per_node,
        CASE WHEN s.procs_per_node IS NULL AND s.devices_per_node IS NULL THEN i.rows END AS procs_per_node_rows,
        coalesce(s.vocab, rounded_count(s.vocab_label), v1(50257, coalesce(s.tp, 1))) AS vocab_used,
        s.vocab IS NULL AND rounded_count(s.vocab_label) IS NULL AS vocab_assumed,
        -- Experts by their number, their split, their label, or by FLOPs of a token that the row prints and
        -- that are less than a quarter of what all parameters take.
        coalesce(s.experts, 1) <= 1 AND coalesce(s.ep, 1) <= 1 AND s.active_b IS NULL
            AND NOT coalesce(regexp_matches(s.model, '(?i){{experts}}'), false)
            AND NOT coalesce(w.flops_per_token * CASE WHEN w.of_job THEN s.devices ELSE 1 END
                             < 0.25 * 6 * coalesce(s.params_stated, s.params_b * 1e9), false) AS dense,
        NOT coalesce(s.swiglu, false) AND coalesce(s.ffn_hidden = 4 * s.hidden::BIGINT, true) AND dense AS plain_mlp
    FROM multiplied s LEFT JOIN implied i ON i.table_id = s.table_id LEFT JOIN printed_work w USING (run_id)
    LEFT JOIN not_one n ON n.table_id = s.table_id
), sized AS (
    SELECT f.*,
        coalesce(f.ranks, f.devices, try_cast(f.nodes::HUGEINT * f.procs_per_node AS BIGINT), f.product)
            AS world_size,
        f.device_batch * coalesce(f.grad_accum, 1)
            * coalesce(f.devices, world_size) AS shared,
        try_cast(coalesce(f.gbs, f.mbs::HUGEINT * f.grad_accum * f.dp,
                          CASE WHEN shared = floor(shared) THEN try_cast(shared AS HUGEINT) END)
                 * f.seq_len AS BIGINT) AS tokens_per_step,
        CASE WHEN plain_mlp THEN p1(f.layers, f.hidden, f.vocab_used, f.seq_len) END AS params_computed,
        CASE WHEN plain_mlp THEN p1n(f.layers, f.hidden) END AS params_without_embedding
    FROM filled f
)
-- A model without a size goes by its name: what is compared by size is compared by model.
SELECT s.* EXCLUDE (shared),
    coalesce(size_label(s.params_b), short_size(coalesce(s.params_stated, s.params_computed)), s.model) AS size
FROM sized s;
