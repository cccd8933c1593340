// Views that people query, with names and columns that stay (docs/reference/database.md). One that must change gets the next number beside
// the old one. deepgap itself never reads them. Only for src/store.
#pragma once

namespace deepgap {

inline constexpr const char* store_views = R"(
CREATE VIEW IF NOT EXISTS v1_records AS
SELECT r.record_id, s.run_id, s.study, p.point_id, r.repeat, r.sweep, r.tenant, r.rank,
  strftime('%Y-%m-%dT%H:%M:%SZ', r.started_unix_ns / 1000000000, 'unixepoch') AS started,
  r.outcome, r.verdict, r.reason, r.unchecked, p.task, p.model, json_extract(p.json, '$.weights') AS weights,
  json_extract(p.json, '$.dataset') AS dataset, p.backend, json_extract(t.json, '$.backend_version') AS backend_version, p.device, p.precision,
  p.batch, p.scenario, p.threads, r.load_s, r.compile_s, r.first_result_ms, r.host_memory_peak_bytes, r.device_peak_bytes, r.timings,
  r.check_sqnr_db, r.check_top1_agreement
FROM records r JOIN runs s ON s.id = r.run JOIN points p ON p.id = r.point JOIN settings t ON t.id = r.settings;
CREATE VIEW IF NOT EXISTS v1_metrics AS
SELECT r.record_id, p.point_id, m.name AS metric, v.value, v.low, v.high, v.n
FROM metric_values v JOIN metric_names m ON m.id = v.metric JOIN records r ON r.id = v.record JOIN points p ON p.id = r.point;
CREATE VIEW IF NOT EXISTS v1_remarks AS
SELECT r.record_id, m.kind, m.text FROM remarks m JOIN records r ON r.id = m.record;
CREATE VIEW IF NOT EXISTS v1_options AS
SELECT p.point_id, o.key AS option, o.value FROM points p, json_each(p.json, '$.options') o;
CREATE VIEW IF NOT EXISTS v1_facts AS
SELECT r.record_id, 'run' AS source, f.key, f.value FROM records r, json_each(r.facts) f
UNION ALL SELECT r.record_id, 'environment', f.key, f.value FROM records r JOIN environments e ON e.id = r.environment, json_each(e.json) f
UNION ALL SELECT r.record_id, 'environment', f.key, f.value FROM records r, json_each(CASE r.momentary WHEN '' THEN '{}' ELSE r.momentary END) f;
)";

}  // namespace deepgap
