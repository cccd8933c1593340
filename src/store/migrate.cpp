#include "store/migrate.h"

#include <string_view>

namespace deepgap {
namespace {

bool has_column(Database& database, const char* column) {
  SqlStatement find(database, "SELECT count(*) FROM pragma_table_info('records') WHERE name = ?");
  find.bind(0, std::string_view(column));
  return find.step() && find.integer(0) > 0;
}

// Check, windows, facts and the end of standard error were one text, `rest`.
constexpr const char* rest_to_columns = R"(
ALTER TABLE records ADD COLUMN check_against TEXT;
ALTER TABLE records ADD COLUMN check_samples INTEGER;
ALTER TABLE records ADD COLUMN check_max_abs_error REAL;
ALTER TABLE records ADD COLUMN check_mean_abs_error REAL;
ALTER TABLE records ADD COLUMN check_sqnr_db REAL;
ALTER TABLE records ADD COLUMN check_top1_agreement REAL;
ALTER TABLE records ADD COLUMN check_min_sqnr_db REAL;
ALTER TABLE records ADD COLUMN check_pass INTEGER;
ALTER TABLE records ADD COLUMN windows TEXT NOT NULL DEFAULT '';
ALTER TABLE records ADD COLUMN facts TEXT NOT NULL DEFAULT '{}';
ALTER TABLE records ADD COLUMN stderr_tail TEXT NOT NULL DEFAULT '';
UPDATE records SET
  check_against = json_extract(rest, '$.check.against'), check_samples = json_extract(rest, '$.check.samples'),
  check_max_abs_error = json_extract(rest, '$.check.max_abs_error'), check_mean_abs_error = json_extract(rest, '$.check.mean_abs_error'),
  check_sqnr_db = json_extract(rest, '$.check.sqnr_db'), check_top1_agreement = json_extract(rest, '$.check.top1_agreement'),
  check_min_sqnr_db = json_extract(rest, '$.check.min_sqnr_db'), check_pass = json_extract(rest, '$.check.pass'),
  windows = coalesce((SELECT group_concat(json_extract(w.value, '$.begin_ns') || ' ' || json_extract(w.value, '$.end_ns') || ' ' ||
                                          json_extract(w.value, '$.name') || char(10), '') FROM json_each(rest, '$.windows') w), ''),
  facts = coalesce(json_extract(rest, '$.facts'), '{}'), stderr_tail = coalesce(json_extract(rest, '$.stderr_tail'), '');
ALTER TABLE records DROP COLUMN rest;
)";

}  // namespace

bool is_early_shape(Database& database) { return !has_column(database, "momentary"); }

void reshape(Database& database) {
  if (has_column(database, "rest")) database.execute(rest_to_columns);
  if (!has_column(database, "momentary")) database.execute("ALTER TABLE records ADD COLUMN momentary TEXT NOT NULL DEFAULT ''");
}

}  // namespace deepgap
