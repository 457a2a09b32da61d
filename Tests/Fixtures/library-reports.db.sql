-- A library of schema 3, as an early version left it: statements end with a semicolon at the end of a line.
-- The word RECEIVER stands for the address of a receiver. Session 1 waits with two reports, the first after a failure,
-- session 2 holds a receipt and one set aside; session 3 was killed in mid-play and has made no last report.
CREATE TABLE folder (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE content (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  mck TEXT NOT NULL UNIQUE,
  folder_id INTEGER REFERENCES folder (id),
  title TEXT NOT NULL, company TEXT NOT NULL, course TEXT NOT NULL, teacher TEXT NOT NULL,
  synopsis TEXT NOT NULL, description_url TEXT NOT NULL,
  file_name TEXT NOT NULL, media_identity TEXT NOT NULL, snapshot TEXT NOT NULL, thumbnail TEXT NOT NULL,
  content_type INTEGER NOT NULL, media_type TEXT NOT NULL,
  state TEXT NOT NULL, error_kind TEXT, error_code INTEGER, error_message TEXT,
  file_size INTEGER NOT NULL, download_size INTEGER NOT NULL, downloaded_time INTEGER NOT NULL,
  duration REAL NOT NULL, position REAL NOT NULL,
  natural_width INTEGER NOT NULL, natural_height INTEGER NOT NULL,
  encoding_profile TEXT NOT NULL, content_provider_key TEXT NOT NULL,
  client_user_id TEXT NOT NULL, user_values TEXT NOT NULL,
  needs_licence INTEGER NOT NULL, not_before INTEGER NOT NULL, file_stamp INTEGER NOT NULL
, drm_callback TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE source (
  content_id INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE,
  sealed BLOB NOT NULL
) STRICT;
CREATE TABLE play_url (
  digest BLOB NOT NULL,
  content_id INTEGER NOT NULL REFERENCES content (id) ON DELETE CASCADE,
  PRIMARY KEY (digest, content_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE licence (
  content_id INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE,
  generation INTEGER NOT NULL, player_id TEXT NOT NULL, is_complete INTEGER NOT NULL,
  expiration_date INTEGER,
  expiration_count INTEGER, used_count INTEGER NOT NULL,
  expiration_playtime INTEGER, used_playtime INTEGER NOT NULL, expiration_playtime_type INTEGER NOT NULL,
  check_expiration_date INTEGER,
  expired INTEGER NOT NULL,
  expiration_refresh_popup INTEGER NOT NULL, vmcheck INTEGER NOT NULL, check_abuse INTEGER NOT NULL,
  bookmark_download INTEGER NOT NULL, bookmark_readonly INTEGER NOT NULL,
  mac BLOB NOT NULL
) STRICT;
CREATE TABLE exchange (
  content_id INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE,
  kind INTEGER NOT NULL, asked_at INTEGER NOT NULL, is_answered INTEGER NOT NULL, answers INTEGER NOT NULL,
  batch INTEGER NOT NULL, not_before INTEGER NOT NULL,
  error_kind TEXT, error_code INTEGER, error_message TEXT
) STRICT;
CREATE TABLE ledger (id INTEGER PRIMARY KEY CHECK (id = 1), change INTEGER NOT NULL, seen INTEGER NOT NULL, lag INTEGER NOT NULL, mac BLOB NOT NULL) STRICT;
CREATE TABLE renewal_batch (
  id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, begun_at INTEGER NOT NULL, is_open INTEGER NOT NULL
) STRICT;
CREATE TABLE viewing (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  mck TEXT NOT NULL, client_user_id TEXT NOT NULL, start_at INTEGER NOT NULL,
  context TEXT NOT NULL, log TEXT NOT NULL, is_open INTEGER NOT NULL,
  UNIQUE (client_user_id, start_at)
) STRICT;
CREATE TABLE report (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  viewing_id INTEGER NOT NULL, stream INTEGER NOT NULL,
  mck TEXT NOT NULL, client_user_id TEXT NOT NULL, start_at INTEGER NOT NULL, play_status TEXT NOT NULL,
  url TEXT NOT NULL, body TEXT NOT NULL,
  state TEXT NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER,
  attempts INTEGER NOT NULL, next_at INTEGER NOT NULL, not_before INTEGER NOT NULL,
  status INTEGER, error_code INTEGER, error_message TEXT
) STRICT;
CREATE INDEX content_state ON content (state);
CREATE INDEX play_url_content ON play_url (content_id);
CREATE INDEX licence_deleted ON licence (content_id) WHERE expired = -8680;
CREATE INDEX exchange_failed ON exchange (content_id) WHERE error_kind IS NOT NULL;
CREATE INDEX viewing_open ON viewing (id) WHERE is_open = 1;
CREATE INDEX report_pending ON report (viewing_id, stream, id) WHERE state = 'pending';
CREATE INDEX report_state ON report (state, id);
INSERT INTO viewing VALUES(1,'lecture/1','user',1700000100,'{}','{}',0);
INSERT INTO viewing VALUES(2,'lecture/2','user',1700000200,'{}','{}',0);
INSERT INTO viewing VALUES(3,'lecture/3','user',1700000300,'{"version":1,"contentProviderKey":"cp","clientUserID":"user","playerID":"player","hostName":"host","device":"device","encodingProfile":"profile","mediaContentKey":"lecture/3","channelKey":"channel","startAt":1700000300,"userValues":"{\"uservalue0\":\"class 4\"}","templates":"60:RECEIVER/lms?user={CLIENT_USER_ID}&at={START_AT}&what={PLAY_STATUS}&playtime={PLAY_TIME}&v={USERVALUE0}"}','{"version":1,"duration":600000000,"position":90000000,"show":60000000,"run":75000000,"seen":[0,90000000],"blocks":[60000000,30000000,0,0,0,0,0,0,0,0]}',1);
INSERT INTO report VALUES(1,2,0,'lecture/2','user',1700000200,'play','RECEIVER/lms','','sent',1700000200,1700000201,1,0,0,200,NULL,NULL);
INSERT INTO report VALUES(2,1,0,'lecture/1','user',1700000100,'play','RECEIVER/lms','user=user&at=1700000100&what=play&playtime=0&old=1','pending',1700000100,NULL,3,1700000400,0,503,-8503,'the receiver answered with status 503');
INSERT INTO report VALUES(3,1,0,'lecture/1','user',1700000100,'seeked','RECEIVER/lms','user=user&at=1700000100&what=seeked&playtime=60&old=1','pending',1700000160,NULL,0,0,0,NULL,NULL,NULL);
INSERT INTO report VALUES(4,2,0,'lecture/2','user',1700000200,'stop','RECEIVER/lms','user=user&at=1700000200&what=stop&playtime=30&old=1','aside',1700000230,1700000231,1,0,0,400,-8400,'the receiver refuses the report with status 400');
PRAGMA user_version = 3;
