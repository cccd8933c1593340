// A Scenario's options as the rows of a table, and the rows that several scenarios have.
#pragma once

#include "base/option_table.h"
#include "scenario/scenario.h"

#include <deepgap/error.h>

#include <map>
#include <string>

namespace deepgap {

using ScenarioOptions = std::map<std::string, std::string>;

// The scenario S has a function table() that makes its rows, with S itself as the settings.
template <typename S, typename Base = Scenario>
class WithOptions : public Base {
 public:
  std::vector<OptionInfo> options() const final { return rows().infos(); }
  void parse(const ScenarioOptions& options) final {
    rows().set_known(static_cast<S&>(*this), options);
    check_options();
  }

 protected:
  // Throws Error{usage} for options that are missing.
  virtual void check_options() const {}

 private:
  static const OptionTable<S>& rows() {
    static const OptionTable<S> table = S::table();
    return table;
  }
};

inline constexpr int64_t most_in_flight = 1024;
inline constexpr const char* in_flight_by_slots =
    "queries submitted and not yet completed, at most [default: as many as the session has slots (--streams)]";

// Adds the rate of queries a second. It has no default: a scenario that needs a rate cannot guess it.
template <typename S, typename Field>
void add_rate(OptionTable<S>& table, const std::string& describe, Field field) {
  constexpr double most_rate = 1e9;  // one a nanosecond, the clock's unit
  const auto parse = [](const std::string& given) {
    const auto rate = parse_number(given, 0, most_rate);
    return rate && *rate > 0 ? rate : std::nullopt;
  };
  table.parsed({"rate", describe, "", false, OptionKind::number}, "a number of queries a second above 0 and at most 1e9", field, parse);
}
// Throws Error{usage} if the rate was not given.
inline void require_rate(double rate, const std::string& scenario) {
  if (rate == 0) throw Error(ErrorKind::usage, "scenario " + scenario + " needs a rate of queries: give for example --rate 200 (a second)");
}

}  // namespace deepgap
