-- Percentiles of a whole app need neither endpoints nor statuses. The engine reads the sums of a projection instead of the
-- table where a query's columns and conditions allow it: a twentieth of the rows of an hour.
-- A merge adds up rows of the table, so it computes the projection again.
ALTER TABLE bins_per_hour_v1 MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
-- statement
ALTER TABLE bins_per_hour_v1
    ADD PROJECTION IF NOT EXISTS sums_of_app (
        SELECT app_id, measure, bucket, k, sum(n) GROUP BY app_id, measure, bucket, k
    );
-- statement
ALTER TABLE bins_per_hour_v1 MATERIALIZE PROJECTION sums_of_app;
-- statement
ALTER TABLE bins_per_day_v1 MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
-- statement
ALTER TABLE bins_per_day_v1
    ADD PROJECTION IF NOT EXISTS sums_of_app (
        SELECT app_id, measure, bucket, k, sum(n) GROUP BY app_id, measure, bucket, k
    );
-- statement
ALTER TABLE bins_per_day_v1 MATERIALIZE PROJECTION sums_of_app;
