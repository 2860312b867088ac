-- Counts and bins have the most rows. With the default of 5, the engine writes a row four times more before it stays where it
-- is, while an import adds parts; with 20, it waits for more parts of a size and writes a row once or twice. See
-- docs/performance.md, "What each lever gave".
ALTER TABLE counts_per_minute_v1 MODIFY SETTING merge_selector_base = 20;
-- statement
ALTER TABLE counts_per_15m_v1 MODIFY SETTING merge_selector_base = 20;
-- statement
ALTER TABLE counts_per_15m_by_consumer_v1 MODIFY SETTING merge_selector_base = 20;
-- statement
ALTER TABLE counts_per_hour_v1 MODIFY SETTING merge_selector_base = 20;
-- statement
ALTER TABLE counts_per_day_v1 MODIFY SETTING merge_selector_base = 20;
-- statement
ALTER TABLE bins_per_minute_v1 MODIFY SETTING merge_selector_base = 20;
-- statement
ALTER TABLE bins_per_15m_v1 MODIFY SETTING merge_selector_base = 20;
-- statement
ALTER TABLE bins_per_15m_by_consumer_v1 MODIFY SETTING merge_selector_base = 20;
-- statement
ALTER TABLE bins_per_hour_v1 MODIFY SETTING merge_selector_base = 20;
-- statement
ALTER TABLE bins_per_day_v1 MODIFY SETTING merge_selector_base = 20;
