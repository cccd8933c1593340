// The MLPerf runs of a Store that a submission's tree is made of: one of each kind in each scenario.
#pragma once

#include <deepgap/record.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

inline constexpr size_t mlperf_log_limit = size_t{4} << 30;  // bytes of a log that is read

enum class MlperfKind { performance, accuracy, test01, test04 };
std::string name_of(MlperfKind kind);  // "performance", "TEST01"

class MlperfRuns {
 public:
  // Keeps the Record where it is a run with logs, of the kinds above: the last valid one of each, else the last.
  void add(const Record& record);
  bool empty() const { return runs_.empty(); }
  std::string round() const;  // the round of all runs; throws Error{input} where they differ
  // Throws Error{input} where they are of several systems under test (network, weights, engine, devices, precision), or where a folder's
  // logs are not those of the run any more.
  void require_one_system() const;
  void require_own_logs() const;
  // nullptr: there is none. `scenario` as LoadGen spells it.
  const Record* find(const std::string& scenario, MlperfKind kind) const;
  std::vector<std::string> scenarios() const;

 private:
  std::map<std::pair<std::string, MlperfKind>, Record> runs_;
};

// A fact of the Record's run or environment as text; empty where it is not there.
std::string mlperf_fact(const Record& record, const std::string& key);

}  // namespace deepgap
