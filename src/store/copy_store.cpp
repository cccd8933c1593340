// The copy is written afresh rather than copied and cut down: no page of it ever held what --anonymous leaves out.
#include "record/profile_block.h"
#include "record/timing_block.h"
#include "store/naming.h"
#include "store/record_rows.h"
#include "store/schema.h"
#include "store/store.h"
#include "store/unfinished_file.h"

#include <fmt/format.h>
#include <unistd.h>

namespace deepgap {
namespace {

void revise(Record& record, const Blocks& blocks, const CopyOptions& options) {
  if (blocks.timing_count > 0 && blocks.timings.empty())
    throw Error(ErrorKind::input, "it is compact: it has no timings and series to compute from");
  if (!blocks.timings.empty()) record.timings = decode_timings(blocks.timings);
  if (!blocks.series.empty()) record.series = decode_series(blocks.series);
  options.revise(record);
  record.timings = {};
  record.series = {};
}

void copy_records(Database& source, Database& target, const CopyOptions& options) {
  const Transaction snapshot(source, "BEGIN");
  Anonymizer anonymizer;
  // A first pass, since the last Record may give away a name that the first one holds too.
  if (options.anonymous) {
    for (RecordReader reader(source); reader.next();) anonymizer.learn(reader.record());
  }
  BlockReader blocks_of(source);
  RecordWriter writer(target);
  Transaction transaction(target, "BEGIN IMMEDIATE");
  for (RecordReader reader(source); reader.next();) {
    if (options.wanted && !options.wanted(reader.record())) continue;
    Record& record = reader.lend();
    Blocks blocks = blocks_of(reader.row());
    if (options.revise) revise(record, blocks, options);
    if (options.anonymous) {
      anonymizer.apply(record);
      if (!blocks.profile.empty()) blocks.profile = encode_profile(anonymous_profile(decode_profile(blocks.profile)));
    }
    if (options.compact) blocks.timings = blocks.series = {};
    writer.write(record, blocks);
  }
  transaction.commit();
}

}  // namespace

void copy_store(const std::string& from, const std::string& to, const CopyOptions& options) {
  const auto source = open_store_for_reading(from);
  if (::access(to.c_str(), F_OK) == 0) {
    throw Error(ErrorKind::input, fmt::format("cannot write store {}: it exists already; name another file or remove it", to));
  }
  const UnfinishedFile unfinished(to);
  try {
    const auto target = open_store_for_appending(unfinished.path());
    target->execute("PRAGMA synchronous = OFF");  // a half copy is thrown away anyway; the whole one is synced once
    naming(from, [&] { copy_records(*source, *target, options); });
    target->execute("PRAGMA journal_mode = DELETE; VACUUM;");
  } catch (const Error& error) {
    throw Error(error.kind(), unfinished.with_target_name(error.what()));
  }
  unfinished.keep();
}

}  // namespace deepgap
