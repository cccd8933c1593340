#include "cli/timings_output.h"

#include "base/console.h"
#include "cli/export_output.h"
#include "cli/stores.h"
#include "report/timings_table.h"
#include "store/store.h"

#include <fmt/format.h>

namespace deepgap {

// Record by Record, so that a large Store takes the memory of one.
void write_timings(const TimingsOf& of, bool json, const std::string& output) {
  ExportOutput file(output);
  file.write(json ? "[" : timings_header());
  bool any = false;
  int64_t dropped = 0;
  look_at_selected(of.stores, of.selection, of.anonymous, [&](const Store& store, const Record& each) {
    if (!of.run_id.empty() && each.run_id != of.run_id) return;
    Record record = each;
    record.timings = store.timings(record.record_id);
    record.series = store.series(record.record_id);
    dropped += record.timings_dropped;
    if (record.timings.empty()) return;
    file.write(json ? (any ? ",\n" : "\n") + timings_objects(record) : timings_rows(record));
    any = true;
  });
  if (json) file.write("\n]\n");
  file.finish();
  if (!any) say(stderr, fmt::format("deepgap: note: {} has no timings: a compact copy leaves them out\n", store_names(of.stores)));
  if (dropped > 0)
    say(stderr,
        fmt::format("deepgap: note: {} queries beyond ten million of a run were counted but not kept: they have no rows\n", dropped));
}

}  // namespace deepgap
