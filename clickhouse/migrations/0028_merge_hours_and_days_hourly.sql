-- Metrics and traffic of the last days read the current month, and each of its parts costs time to choose and to open. The tables of
-- hours and days are small: their parts are merged once they are an hour old, not only those of a month that has ended.
ALTER TABLE counts_per_hour_v1 MODIFY SETTING min_age_to_force_merge_on_partition_only = 0;
-- statement
ALTER TABLE counts_per_day_v1 MODIFY SETTING min_age_to_force_merge_on_partition_only = 0;
-- statement
ALTER TABLE bins_per_hour_v1 MODIFY SETTING min_age_to_force_merge_on_partition_only = 0;
-- statement
ALTER TABLE bins_per_day_v1 MODIFY SETTING min_age_to_force_merge_on_partition_only = 0;
