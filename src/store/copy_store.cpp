// The copy is made under another name in the target's folder and renamed when it is whole, so that a kill leaves no half of one. It is
// written afresh rather than copied and cut down: no page of it ever held what --anonymous leaves out.
#include "record/record_json.h"
#include "record/timing_block.h"
#include "store/record_rows.h"
#include "store/schema.h"
#include "store/store.h"

#include "base/file.h"
#include "base/hash.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace deepgap {
namespace {

// Removes the unfinished copy unless it was kept.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& target) : target_(target), path_(target + ".unfinished-" + random_id().substr(0, 8)) {}
  ~UnfinishedFile() {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((path_ + suffix).c_str());
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  const std::string& path() const { return path_; }

  void keep() const {
    const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid() || ::fsync(file.get()) != 0) fail();
    // link() rather than rename(): it refuses to replace a file that appeared meanwhile.
    if (::link(path_.c_str(), target_.c_str()) != 0) {
      const bool no_links = errno == EPERM || errno == EOPNOTSUPP;
      if (!no_links || ::rename(path_.c_str(), target_.c_str()) != 0) fail();
    }
  }

 private:
  [[noreturn]] void fail() const { throw Error(ErrorKind::store, fmt::format("cannot write Store {}: {}", target_, std::strerror(errno))); }
  std::string target_, path_;
};

Blocks blocks_of(SqlStatement& select, int64_t row) {
  Blocks blocks;
  select.bind(0, row);
  if (select.step()) {
    blocks.timing_count = select.integer(0);
    blocks.timings = select.text(1);
    blocks.series = select.text(2);
  }
  select.reset();
  return blocks;
}

void revise(Record& record, const Blocks& blocks, const CopyOptions& options) {
  if (blocks.timing_count > 0 && blocks.timings.empty())
    throw Error(ErrorKind::input, "the Store is compact: it has no timings and series to compute from");
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
  SqlStatement select_blocks(source,
                             "SELECT r.timings, b.timings, b.series FROM records r LEFT JOIN blocks b ON b.record = r.id WHERE r.id = ?");
  RecordWriter writer(target);
  Transaction transaction(target, "BEGIN IMMEDIATE");
  for (RecordReader reader(source); reader.next();) {
    Record& record = reader.lend();
    Blocks blocks = blocks_of(select_blocks, reader.row());
    if (options.revise) revise(record, blocks, options);
    if (options.anonymous) anonymizer.apply(record);
    if (options.compact) blocks.timings = blocks.series = {};
    writer.write(record, blocks);
  }
  transaction.commit();
}

}  // namespace

void copy_store(const std::string& from, const std::string& to, const CopyOptions& options) {
  const auto source = open_store_for_reading(from);
  if (::access(to.c_str(), F_OK) == 0) {
    throw Error(ErrorKind::input, fmt::format("cannot write Store {}: it exists already; name another file or remove it", to));
  }
  const UnfinishedFile unfinished(to);
  try {
    const auto target = open_store_for_appending(unfinished.path());
    target->execute("PRAGMA synchronous = OFF");  // a half copy is thrown away anyway; the whole one is synced once
    copy_records(*source, *target, options);
    target->execute("PRAGMA journal_mode = DELETE; VACUUM;");
  } catch (const Error& error) {
    std::string message = error.what();
    const size_t at = message.find(unfinished.path());
    if (at != std::string::npos) message.replace(at, unfinished.path().size(), to);  // the name that the user gave
    throw Error(error.kind(), message);
  }
  unfinished.keep();
}

}  // namespace deepgap
