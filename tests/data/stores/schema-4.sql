PRAGMA application_id=1684496752;
PRAGMA user_version=4;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES('schema','4');
CREATE TABLE runs(id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, study TEXT NOT NULL, UNIQUE(run_id, study));
INSERT INTO runs VALUES(1,'0123456789abcdef0123456789abcdef','example');
CREATE TABLE environments(id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, json TEXT NOT NULL);
INSERT INTO environments VALUES(1,'e80e5af7e896fdd916b6599bc2f0fb82','{"cpu.model":"Example CPU @ 2.10GHz","cpu.sockets":1,"cpu.turbo":true,"git.root":"/home/someone/src/deepgap","host.name":"node-17.example.org","host.serial":"SN-4711-0815","kernel.release":"6.1.0-18-amd64","library.example_00.version":"0.0.0-example","library.example_01.version":"1.2.0-example","library.example_02.version":"2.4.0-example","library.example_03.version":"3.6.0-example","library.example_04.version":"4.8.0-example","library.example_05.version":"5.10.0-example","library.example_06.version":"6.12.0-example","library.example_07.version":"7.14.0-example","library.example_08.version":"8.16.0-example","library.example_09.version":"9.18.0-example","library.example_10.version":"10.20.0-example","library.example_11.version":"11.22.0-example","library.example_12.version":"12.24.0-example","library.example_13.version":"13.26.0-example","library.example_14.version":"14.28.0-example","library.example_15.version":"15.30.0-example","library.example_16.version":"16.32.0-example","library.example_17.version":"17.34.0-example","library.example_18.version":"18.36.0-example","library.example_19.version":"19.38.0-example","library.example_20.version":"20.40.0-example","library.example_21.version":"21.42.0-example","library.example_22.version":"22.44.0-example","library.example_23.version":"23.46.0-example","library.example_24.version":"24.48.0-example","library.example_25.version":"25.50.0-example","library.example_26.version":"26.52.0-example","library.example_27.version":"27.54.0-example","library.example_28.version":"28.56.0-example","library.example_29.version":"29.58.0-example","library.example_30.version":"30.60.0-example","library.example_31.version":"31.62.0-example","library.example_32.version":"32.64.0-example","library.example_33.version":"33.66.0-example","library.example_34.version":"34.68.0-example","library.example_35.version":"35.70.0-example","library.example_36.version":"36.72.0-example","library.example_37.version":"37.74.0-example","library.example_38.version":"38.76.0-example","library.example_39.version":"39.78.0-example","library.example_40.version":"40.80.0-example","library.example_41.version":"41.82.0-example","library.example_42.version":"42.84.0-example","library.example_43.version":"43.86.0-example","library.example_44.version":"44.88.0-example","library.example_45.version":"45.90.0-example","library.example_46.version":"46.92.0-example","library.example_47.version":"47.94.0-example","library.example_48.version":"48.96.0-example","library.example_49.version":"49.98.0-example","memory.total_bytes":17179869184,"os.name":"Debian GNU/Linux 12 (bookworm)","power.rapl":"not available: no /sys/class/powercap"}');
CREATE TABLE settings(id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, json TEXT NOT NULL);
INSERT INTO settings VALUES(1,'b5159507a39269d0e4a6231a5e007592','{"backend_version":"oneDNN 2.6.3","bytes_per_item":190000000,"dataset_description":"seeded, seed 1, 64 samples","flop_per_item":8178368512,"macs_per_item":4089184256,"parameters":25557032,"stopping":{"budget_ns":30000000000,"interval":0.01,"iterations":100,"name":"counts","target":"throughput","warmup":20,"warmup_budget_ns":10000000000}}');
CREATE TABLE points(id INTEGER PRIMARY KEY, point_id TEXT NOT NULL UNIQUE, task TEXT NOT NULL, model TEXT NOT NULL,
  backend TEXT NOT NULL, device TEXT NOT NULL, precision TEXT NOT NULL, batch INTEGER NOT NULL, scenario TEXT NOT NULL,
  threads INTEGER NOT NULL, json TEXT NOT NULL);
INSERT INTO points VALUES(1,'724deed21bd86525','infer','resnet50','native','cpu','fp32',1,'batch',2,'{"backend":"native","batch":1,"dataset":"seeded","model":"resnet50","model_hash":"","options":{"pin":"on","shard":"84"},"placement":{"devices":["cpu"],"processes":1},"precision":"fp32","scenario":"batch","task":"infer","threads":2,"weights":"seeded"}');
INSERT INTO points VALUES(2,'bb64ca82d1e80350','infer','efficientnet_lite0','onnxruntime','cpu','fp32',32,'batch',2,'{"backend":"onnxruntime","batch":32,"dataset":"seeded","model":"efficientnet_lite0","model_hash":"","options":{"pin":"on","shard":"36"},"placement":{"devices":["cpu"],"processes":1},"precision":"fp32","scenario":"batch","task":"infer","threads":2,"weights":"seeded"}');
INSERT INTO points VALUES(3,'174490954bd438f2','infer','efficientnet_lite0','onnxruntime','cpu','fp32',128,'batch',2,'{"backend":"onnxruntime","batch":128,"dataset":"seeded","model":"efficientnet_lite0","model_hash":"","options":{"pin":"on","shard":"1"},"placement":{"devices":["cpu"],"processes":1},"precision":"fp32","scenario":"batch","task":"infer","threads":2,"weights":"seeded"}');
CREATE TABLE records(id INTEGER PRIMARY KEY, record_id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL REFERENCES runs(id),
  point INTEGER NOT NULL REFERENCES points(id), environment INTEGER NOT NULL REFERENCES environments(id),
  settings INTEGER NOT NULL REFERENCES settings(id), repeat INTEGER NOT NULL, sweep INTEGER NOT NULL, tenant TEXT NOT NULL,
  rank INTEGER NOT NULL, started_unix_ns INTEGER NOT NULL, outcome TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL,
  unchecked INTEGER NOT NULL, load_s REAL, compile_s REAL, first_result_ms REAL, device_reserved_bytes INTEGER NOT NULL,
  device_in_use_bytes INTEGER NOT NULL, device_peak_bytes INTEGER NOT NULL, host_memory_peak_bytes INTEGER,
  warmup_queries INTEGER NOT NULL, timings INTEGER NOT NULL, timings_dropped INTEGER NOT NULL, check_against TEXT,
  check_samples INTEGER, check_max_abs_error REAL, check_mean_abs_error REAL, check_sqnr_db REAL, check_top1_agreement REAL,
  check_min_sqnr_db REAL, check_pass INTEGER, windows TEXT NOT NULL, facts TEXT NOT NULL, momentary TEXT NOT NULL, stderr_tail TEXT NOT NULL);
INSERT INTO records VALUES(1,'2245bd5fbb686f680000000000000001',1,1,1,1,1,1,'',0,1790000001000000000,'ok','as_found','',0,0.31279999999999996695,0.125,31.5,104857600,98000000,101000000,300000000,20,3,0,'native fp32 reference',8,1.5000000000000000379e-05,1.9999999999999999094e-06,118.49999999999999999,1.0,60.0,1,replace('0 5000000 load\n10000000 900000000 warm_up\n1000000000 2000000000 steady\n','\n',char(10)),'{"cpus":"0,1","layers.kept":53,"probe.proc":true,"steal.share":0.001953125}','{"memory.available_bytes":15657012042}','');
INSERT INTO records VALUES(2,'e75297ed09818a4c0000000000000002',1,2,1,1,2,0,'',0,1790000002000000000,'ok','as_found','',0,0.28370000000000000772,0.125,31.5,104857600,98000000,101000000,300000000,20,2,0,'native fp32 reference',8,1.5000000000000000379e-05,1.9999999999999999094e-06,118.49999999999999999,1.0,60.0,1,replace('0 5000000 load\n10000000 900000000 warm_up\n1000000000 2000000000 steady\n','\n',char(10)),'{"as_found":"throughput +-0.4%, nothing asked","cpus":"0,1","layers.kept":53,"probe.proc":true,"steal.share":0.001953125}','{"memory.available_bytes":2334500689}','');
INSERT INTO records VALUES(3,'8f0b49b38c72fbab0000000000000003',1,3,1,1,0,1,'',0,1790000003000000000,'crashed','none','killed by SIGSEGV',0,0.3418999999999999817,0.125,31.5,104857600,98000000,101000000,300000000,20,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'','{"cpus":"0,1","layers.kept":53,"probe.proc":true,"steal.share":0.001953125}','{"memory.available_bytes":6207132944}',replace('first line\nit''s the "second"\n','\n',char(10)));
CREATE TABLE metric_names(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO metric_names VALUES(1,'latency_example00_ms');
INSERT INTO metric_names VALUES(2,'latency_example01_ms');
INSERT INTO metric_names VALUES(3,'latency_example02_ms');
INSERT INTO metric_names VALUES(4,'latency_example03_ms');
INSERT INTO metric_names VALUES(5,'latency_example04_ms');
INSERT INTO metric_names VALUES(6,'latency_example05_ms');
INSERT INTO metric_names VALUES(7,'latency_example06_ms');
INSERT INTO metric_names VALUES(8,'latency_example07_ms');
INSERT INTO metric_names VALUES(9,'latency_example08_ms');
INSERT INTO metric_names VALUES(10,'latency_example09_ms');
INSERT INTO metric_names VALUES(11,'latency_example10_ms');
INSERT INTO metric_names VALUES(12,'latency_example11_ms');
INSERT INTO metric_names VALUES(13,'latency_example12_ms');
INSERT INTO metric_names VALUES(14,'latency_example13_ms');
INSERT INTO metric_names VALUES(15,'latency_example14_ms');
INSERT INTO metric_names VALUES(16,'latency_example15_ms');
INSERT INTO metric_names VALUES(17,'latency_example16_ms');
INSERT INTO metric_names VALUES(18,'latency_example17_ms');
INSERT INTO metric_names VALUES(19,'latency_example18_ms');
INSERT INTO metric_names VALUES(20,'throughput');
CREATE TABLE metric_values(record INTEGER NOT NULL REFERENCES records(id), metric INTEGER NOT NULL REFERENCES metric_names(id),
  value REAL, low REAL, high REAL, n INTEGER NOT NULL, PRIMARY KEY(record, metric)) WITHOUT ROWID;
INSERT INTO metric_values VALUES(1,1,9366.1428571428568829,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,2,325.2857142857142776,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,3,8329.5714285714293513,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,4,4740.0,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,5,9119.0,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,6,13024.142857142856883,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,7,2801.4285714285715584,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,8,4503.2857142857146753,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,9,13057.142857142856883,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,10,2397.5714285714284416,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,11,366.7142857142857224,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,12,5884.0,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,13,14266.714285714286234,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,14,6432.4285714285715583,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,15,9484.8571428571431174,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,16,1391.2857142857142207,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,17,9968.1428571428568833,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,18,5342.857142857143117,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,19,8847.1428571428568834,NULL,NULL,100);
INSERT INTO metric_values VALUES(1,20,138.92783505154639555,137.53855670103092734,140.31711340206186378,100);
INSERT INTO metric_values VALUES(2,1,5052.2857142857146755,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,2,91.857142857142861204,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,3,11531.428571428570649,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,4,1038.2857142857142207,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,5,32.0,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,6,12966.857142857143117,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,7,148.28571428571427759,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,8,6855.2857142857146753,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,9,12352.714285714286233,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,10,5736.4285714285715585,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,11,6218.4285714285715586,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,12,10157.857142857143117,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,13,4471.7142857142853245,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,14,569.85714285714288963,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,15,5791.0,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,16,12760.857142857143116,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,17,11683.57142857142935,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,18,13109.714285714286234,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,19,13077.285714285713766,NULL,NULL,100);
INSERT INTO metric_values VALUES(2,20,170.16494845360824683,168.46329896907215584,171.86659793814433783,100);
CREATE TABLE blocks(record INTEGER PRIMARY KEY REFERENCES records(id), timings BLOB, series BLOB);
INSERT INTO blocks VALUES(1,X'444754310328b52ffd242841010000020280a8d6b907e2f1ed06d09be106880e880e880e8ad4ed06f8fde00698c4d706020000000000aee06003',X'444753310228b52ffd244b0d020044030470726f63086370755f74696d650173010300c801c8010300f43f00f8fc3f03727373056279746573000200c801020180408040040054095c49069a0b03787c55c3b9');
INSERT INTO blocks VALUES(2,X'444754310228b52ffd241bd90000000280a8d6b907969bee06880e880ebefded06b4e1ed0640000000628a62a2',X'444753310228b52ffd244b0d020044030470726f63086370755f74696d650173010300c801c8010300f43f00f8fc3f03727373056279746573000200c801020180408040040054095c49069a0b03787c55c3b9');
CREATE TABLE profiles(record INTEGER PRIMARY KEY REFERENCES records(id), profile BLOB NOT NULL);
CREATE TABLE remarks(record INTEGER NOT NULL REFERENCES records(id), kind TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(record, kind, text)) WITHOUT ROWID;
INSERT INTO remarks VALUES(1,'note','the first; after an update');
INSERT INTO remarks VALUES(1,'tag','good');
INSERT INTO remarks VALUES(1,'tag','release-1');
INSERT INTO remarks VALUES(2,'tag','good');
CREATE VIEW metrics AS SELECT r.record_id AS record_id, m.name AS id, v.value, v.low, v.high, v.n
  FROM metric_values v JOIN metric_names m ON m.id = v.metric JOIN records r ON r.id = v.record;
CREATE VIEW v1_records AS
SELECT r.record_id, s.run_id, s.study, p.point_id, r.repeat, r.sweep, r.tenant, r.rank,
  strftime('%Y-%m-%dT%H:%M:%SZ', r.started_unix_ns / 1000000000, 'unixepoch') AS started,
  r.outcome, r.verdict, r.reason, r.unchecked, p.task, p.model, json_extract(p.json, '$.weights') AS weights,
  json_extract(p.json, '$.dataset') AS dataset, p.backend, json_extract(t.json, '$.backend_version') AS backend_version, p.device, p.precision,
  p.batch, p.scenario, p.threads, r.load_s, r.compile_s, r.first_result_ms, r.host_memory_peak_bytes, r.device_peak_bytes, r.timings,
  r.check_sqnr_db, r.check_top1_agreement
FROM records r JOIN runs s ON s.id = r.run JOIN points p ON p.id = r.point JOIN settings t ON t.id = r.settings;
CREATE VIEW v1_metrics AS
SELECT r.record_id, p.point_id, m.name AS metric, v.value, v.low, v.high, v.n
FROM metric_values v JOIN metric_names m ON m.id = v.metric JOIN records r ON r.id = v.record JOIN points p ON p.id = r.point;
CREATE VIEW v1_remarks AS
SELECT r.record_id, m.kind, m.text FROM remarks m JOIN records r ON r.id = m.record;
CREATE VIEW v1_options AS
SELECT p.point_id, o.key AS option, o.value FROM points p, json_each(p.json, '$.options') o;
CREATE VIEW v1_facts AS
SELECT r.record_id, 'run' AS source, f.key, f.value FROM records r, json_each(r.facts) f
UNION ALL SELECT r.record_id, 'environment', f.key, f.value FROM records r JOIN environments e ON e.id = r.environment, json_each(e.json) f
UNION ALL SELECT r.record_id, 'environment', f.key, f.value FROM records r, json_each(CASE r.momentary WHEN '' THEN '{}' ELSE r.momentary END) f;
COMMIT;
