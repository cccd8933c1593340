// Features that do not work together, in one table: flags of a subcommand, settings of a grid, options of a Point. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace deepgap {

// The features in use by the table's names ("--quick", "max_batch", "task=train"); the value is how a message names the feature.
using Features = std::map<std::string, std::string, std::less<>>;

// A row of the table. Names joined by '|' stand for any of them.
struct ConflictRow {
  enum class Relation { with, without };  // a conflict with each of `others`, or unless one of them is there
  std::string_view scopes;                // "grid", "point", "study" (flags beside the study they are given with), or names of subcommands
  std::string_view features;
  Relation relation;
  std::string_view others;
  std::string_view message;  // {0} names the feature, {1} the other one
};

struct Conflict {
  std::string feature;  // as the message names it
  std::string message;
};

std::span<const ConflictRow> conflict_rows();

// Returns the conflict that stands first in the table.
std::optional<Conflict> find_conflict(std::string_view scope, const Features& features);
// Throws Error{usage} for it.
void refuse_conflicts(std::string_view scope, const Features& features);

}  // namespace deepgap
