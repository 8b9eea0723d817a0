-- Most logs print one loss: its name is stored, and a map only where there are several.
ALTER TABLE raw.iterations ADD COLUMN loss_name VARCHAR; -- the name of `loss`, where no other loss is printed
