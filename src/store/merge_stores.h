// Several Stores into one, each result once: what several machines, or several attempts at one task, have measured.
//
// Which Records are one result is decided by Once; of several such the best is kept: what was measured before what failed, what failed
// before what was interrupted, then the one that began first. So the order of the Stores does not matter, and merging again changes
// nothing. The kept Record says in its facts (merge.left_out) what stood beside it.
#pragma once

#include <deepgap/record.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

enum class Once {
  record,   // only what has the same record_id: the same Record in two Stores
  machine,  // study, Point, repeat, tenant, rank, device and host: a run that was copied, or done twice on one machine
  scope     // the same without device and host, but with the input's scope: a task that ran twice, wherever
};

struct MergeInput {
  std::string path;
  std::string scope{};    // used with Once::scope
  int64_t after_row = 0;  // take what was appended after it alone: MergeReport::last_row of an earlier merge
};

struct MergeSettings {
  Once once = Once::machine;
  bool replace = false;                       // `to` may exist, and may be an input too
  std::function<bool(const Record&)> wanted;  // which Records are taken; none: all
  // Called for a Store that cannot be read, with the reason; the others are merged without it. None: Error{input} ends the merge.
  std::function<void(const MergeInput&, const std::string& reason)> unreadable;
  std::function<bool()> interrupted;  // asked now and then; true: nothing is made
};

struct MergeReport {
  int64_t read = 0, written = 0;
  int64_t same = 0;         // Records that were met again by their record_id
  int64_t doubled = 0;      // left out: other Records of a result that is there
  int64_t interrupted = 0;  // runs among those written with no better result for their Point
  int64_t last_row = 0;     // last row of the last input
};

// `to` appears whole or not at all; nullopt: interrupted. Throws Error{input} where an input cannot be read (or is of a newer version) or
// `to` exists, Error{store} where it cannot be written. Takes about 200 bytes of memory a Record, beside one Store's environments and
// Points.
std::optional<MergeReport> merge_stores(const std::vector<MergeInput>& inputs, const std::string& to, const MergeSettings& settings = {});

}  // namespace deepgap
