-- The three accounts, one password each: SET param_reader_password = '…' before it in the same input, and so on (not
-- --param_reader_password=…: others see the arguments of a process). Run again it sets the passwords anew, which is how they are
-- changed.
CREATE USER IF NOT EXISTS analytics_reader IDENTIFIED BY {reader_password:String};
ALTER USER analytics_reader IDENTIFIED BY {reader_password:String};
GRANT request_analytics_reader TO analytics_reader;

CREATE USER IF NOT EXISTS analytics_collector IDENTIFIED BY {collector_password:String};
ALTER USER analytics_collector IDENTIFIED BY {collector_password:String};
GRANT request_analytics_collector TO analytics_collector;

CREATE USER IF NOT EXISTS analytics_owner IDENTIFIED BY {owner_password:String};
ALTER USER analytics_owner IDENTIFIED BY {owner_password:String};
GRANT request_analytics_owner TO analytics_owner;
