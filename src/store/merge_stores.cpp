// Two passes: the first reads what decides, of every Record a few columns, and chooses; the second writes those that were chosen. So no
// more than the choice is ever in memory.
#include "store/merge_stores.h"

#include "base/hash.h"
#include "base/parse_json.h"
#include "base/text.h"
#include "record/identity.h"
#include "record/record_json.h"
#include "record/tuning_mark.h"
#include "store/annotations.h"
#include "store/record_rows.h"
#include "store/schema.h"
#include "store/unfinished_file.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace deepgap {
namespace {

constexpr const char* left_out_fact = "merge.left_out";

struct Interrupted {};

using Key = std::pair<uint64_t, uint64_t>;
struct KeyHash {
  size_t operator()(const Key& key) const { return key.first; }
};

Key key_of(const std::string& text) {
  const std::string digits = content_hash(text);
  return {std::stoull(digits.substr(0, 16), nullptr, 16), std::stoull(digits.substr(16), nullptr, 16)};
}

int badness(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return 0;
    case Outcome::refused:
    case Outcome::skipped:
    case Outcome::incorrect:
      return 1;
    case Outcome::interrupted:
      return 3;
    default:
      return 2;
  }
}

struct Choice {
  uint32_t input = 0, host = 0;  // host: a place in the list of their names
  Outcome outcome = Outcome::ok;
  int64_t row = 0, started = 0;
  // The fullest of several copies of one Record is kept: 2 where an earlier merge left others out for it, 1 with a profile.
  int tells = 0;
  std::string record_id;
  bool better_than(const Choice& other) const {
    return std::tuple(badness(outcome), started, std::string_view(record_id)) <
           std::tuple(badness(other.outcome), other.started, std::string_view(other.record_id));
  }
};

// Collects who measured what, by a Store's Points and environments.
class Results {
 public:
  Results(Database& database, const MergeInput& input, Once once) : scope_(input.scope), once_(once) {
    const auto parse = [](std::string_view text) {
      auto json = parse_json(text);
      if (json.is_discarded()) throw Error(ErrorKind::input, "damaged store: a row is not JSON");
      return json;
    };
    SqlStatement points(database, "SELECT id, json FROM points");
    while (points.step()) points_.emplace(points.integer(0), with_tuning_mark(point_from_json(parse(points.text(1)))));
    for (const auto& [row, point] : points_) point_ids_.emplace(row, point_id(point));
    SqlStatement environments(database, "SELECT id, json FROM environments");
    while (environments.step()) environments_.emplace(environments.integer(0), facts_from_json(parse(environments.text(1))));
  }
  std::string host(int64_t point, int64_t environment) { return where(point, environment).host; }
  std::string result(int64_t point, int64_t environment, const std::string& rest) {
    const std::string& id = look_up(point_ids_, point);
    if (once_ == Once::scope) return fmt::format("{}\n{}\n{}", scope_, id, rest);
    const Identity& found = where(point, environment);
    return fmt::format("{}\n{}\n{}\n{}", id, rest, found.device, found.host);
  }

 private:
  template <typename T>
  static const T& look_up(const std::unordered_map<int64_t, T>& rows, int64_t row) {
    const auto found = rows.find(row);
    if (found == rows.end()) throw Error(ErrorKind::input, "damaged store: a row that a record names is missing");
    return found->second;
  }
  const Identity& where(int64_t point, int64_t environment) {
    const auto known = identities_.find({point, environment});
    if (known != identities_.end()) return known->second;
    Identity found = identity_of(look_up(points_, point), look_up(environments_, environment));
    return identities_.emplace(std::pair(point, environment), std::move(found)).first->second;
  }

  std::string scope_;
  Once once_;
  std::unordered_map<int64_t, Point> points_;
  std::unordered_map<int64_t, std::string> point_ids_;
  std::unordered_map<int64_t, Facts> environments_;
  std::map<std::pair<int64_t, int64_t>, Identity> identities_;
};

class Merge {
 public:
  Merge(const std::vector<MergeInput>& inputs, const MergeSettings& settings) : inputs_(inputs), settings_(settings) {}

  void choose() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (unreadable_.count(i) == 0) reading(i, [&] { choose_from(static_cast<uint32_t>(i)); });
    }
    for (const auto& [key, choice] : best_) chosen_[choice.input].insert(choice.row);
    write_notes();
  }

  // False: a Store that could be chosen from cannot be read after all; the choice is to be made again without it.
  bool write(Database& target) {
    RecordWriter writer(target);
    Transaction transaction(target, "BEGIN IMMEDIATE");
    for (const auto& [input, rows] : chosen_) {
      if (!reading(input, [&, i = input, &some = rows] { copy(i, some, writer); })) return false;
    }
    transaction.commit();
    return true;
  }

  void begin_again() {
    best_.clear();
    chosen_.clear();
    notes_.clear();
    annotations_.clear();
    records_.clear();
    report = {};
  }

  MergeReport report;

 private:
  // Failures of the target go on to the caller; one of the input is reported, if the caller asks for that.
  template <typename Work>
  bool reading(size_t input, const Work& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      std::string reason = error.what();
      const std::string& path = inputs_[input].path;
      if (reason.find(path) == std::string::npos) reason = fmt::format("cannot read store {}: {}", path, reason);
      if (!settings_.unreadable) throw Error(ErrorKind::input, reason);
      unreadable_.insert(input);
      settings_.unreadable(inputs_[input], reason);
      return false;
    }
  }

  void look_for_interrupts() {
    if (++looked_ % 1024 == 0 && settings_.interrupted && settings_.interrupted()) throw Interrupted();
  }

  // A Store that is damaged further on has given nothing: what it has is added when it was read to its end.
  void choose_from(uint32_t input) {
    const auto source = open_store_for_reading(inputs_[input].path);
    const Transaction snapshot(*source, "BEGIN");
    note_annotations(*source);
    Results results(*source, inputs_[input], settings_.once);
    const std::string tells = fmt::format("2 * (instr(r.facts, '{}') > 0) + {}", left_out_fact,
                                          keeps_profiles(*source) ? "(r.id IN (SELECT record FROM profiles))" : "0");
    const std::string sql =
        "SELECT r.id, r.record_id, r.point, r.environment, r.repeat, r.tenant, r.rank, r.outcome, r.started_unix_ns, s.study, " + tells +
        " FROM records r JOIN runs s ON s.id = r.run WHERE r.id > ? ORDER BY r.id";
    const auto wanted = wanted_rows(*source);
    SqlStatement select(*source, sql.c_str());
    select.bind(0, inputs_[input].after_row);
    report.last_row = inputs_[input].after_row;
    std::vector<std::pair<Key, Choice>> found;
    while (select.step()) {
      look_for_interrupts();
      if (wanted && wanted->count(select.integer(0)) == 0) continue;
      const int64_t point = select.integer(2), environment = select.integer(3);
      const auto outcome = outcome_from(select.text(7));
      if (!outcome) throw Error(ErrorKind::input, fmt::format("damaged store: '{}' is not an outcome", select.text(7)));
      Choice choice{input,
                    number_of_host(results.host(point, environment)),
                    *outcome,
                    select.integer(0),
                    select.integer(8),
                    static_cast<int>(select.integer(10)),
                    std::string(select.text(1))};
      const std::string rest = fmt::format("{}\n{}\n{}\n{}", select.text(9), select.integer(4), select.text(5), select.integer(6));
      const Key key = key_of(settings_.once == Once::record ? choice.record_id : results.result(point, environment, rest));
      report.last_row = choice.row;
      found.emplace_back(key, std::move(choice));
    }
    report.read += static_cast<int64_t>(found.size());
    for (auto& [key, choice] : found) add(key, std::move(choice));
  }

  // Returns nullopt if all rows are wanted.
  std::optional<std::unordered_set<int64_t>> wanted_rows(Database& source) {
    if (!settings_.wanted) return std::nullopt;
    std::unordered_set<int64_t> rows;
    for (RecordReader reader(source); reader.next();) {
      look_for_interrupts();
      if (settings_.wanted(reader.record())) rows.insert(reader.row());
    }
    return rows;
  }

  // Copies of one Record may have been annotated on apart: the one that is written has what was said of any.
  void note_annotations(Database& source) {
    if (!keeps_annotations(source)) return;
    SqlStatement select(source, "SELECT r.record_id, m.kind, m.text FROM remarks m JOIN records r ON r.id = m.record");
    while (select.step()) {
      const auto kind = annotation_kind_from(select.text(1));
      if (kind) texts_of(annotations_[std::string(select.text(0))], *kind).emplace(select.text(2));
    }
  }

  void add(const Key& key, Choice&& choice) {
    if (!records_.insert(key_of(choice.record_id)).second) {
      ++report.same;
      const auto kept = best_.find(key);  // the fuller of two copies
      if (kept != best_.end() && kept->second.record_id == choice.record_id && choice.tells > kept->second.tells) kept->second = choice;
      return;
    }
    const auto [known, is_new] = best_.try_emplace(key, choice);
    if (is_new) return;
    ++report.doubled;
    if (choice.better_than(known->second)) std::swap(known->second, choice);
    beside_[key].insert(words_of(choice));
  }

  // Writes the same notes whatever the order of the Stores was.
  void write_notes() {
    constexpr size_t most_told = 8;
    for (const auto& [key, beside] : beside_) {
      std::vector<std::string> words(beside.begin(), beside.end());
      const size_t more = words.size() - std::min(words.size(), most_told);
      words.resize(words.size() - more);
      if (more > 0) words.push_back(fmt::format("and {} more", more));
      const Choice& kept = best_.at(key);
      notes_.emplace(std::pair<size_t, int64_t>(kept.input, kept.row), join(words, "; "));
    }
    beside_.clear();
  }

  uint32_t number_of_host(const std::string& name) {
    const auto [known, is_new] = host_numbers_.try_emplace(name, static_cast<uint32_t>(hosts_.size()));
    if (is_new) hosts_.push_back(name);
    return known->second;
  }

  std::string words_of(const Choice& choice) const {
    const std::string words = fmt::format("{} {}", choice.record_id, name_of(choice.outcome));
    return hosts_[choice.host].empty() ? words : words + " on " + hosts_[choice.host];
  }

  void copy(size_t input, const std::unordered_set<int64_t>& rows, RecordWriter& writer) {
    const auto source = open_store_for_reading(inputs_[input].path);
    const Transaction snapshot(*source, "BEGIN");
    BlockReader blocks_of(*source);
    for (RecordReader reader(*source); reader.next();) {
      look_for_interrupts();
      if (rows.count(reader.row()) == 0) continue;
      const auto note = notes_.find({input, reader.row()});
      if (note != notes_.end()) {
        std::string words = note->second;
        Facts& facts = reader.lend().facts;
        if (const auto* before = std::get_if<std::string>(&facts[left_out_fact]); before != nullptr && !before->empty())
          words = *before + "; " + words;  // from an earlier merge
        facts[left_out_fact] = words;
      }
      const auto annotations = annotations_.find(reader.record().record_id);
      if (annotations != annotations_.end()) reader.lend().annotations = annotations->second;
      writer.write(reader.record(), blocks_of(reader.row()));
      report.interrupted += reader.record().outcome == Outcome::interrupted ? 1 : 0;
      ++report.written;
    }
  }

  const std::vector<MergeInput>& inputs_;
  const MergeSettings& settings_;
  std::unordered_set<size_t> unreadable_;
  std::unordered_map<Key, Choice, KeyHash> best_;
  std::unordered_map<Key, std::set<std::string>, KeyHash> beside_;  // what was left out, by result
  std::map<std::pair<size_t, int64_t>, std::string> notes_;         // by input and row
  std::unordered_map<std::string, Annotations> annotations_;        // by record_id
  std::map<std::string, uint32_t> host_numbers_;
  std::vector<std::string> hosts_;
  std::unordered_set<Key, KeyHash> records_;
  std::map<size_t, std::unordered_set<int64_t>> chosen_;
  size_t looked_ = 0;
};

void require_free(const std::string& to, bool replace) {
  if (::access(to.c_str(), F_OK) != 0) return;
  if (!replace)
    throw Error(ErrorKind::input, fmt::format("cannot write store {}: it exists already; pass --replace, or name another file", to));
  open_store_for_reading(to);  // what is replaced is a Store
}

}  // namespace

std::optional<MergeReport> merge_stores(const std::vector<MergeInput>& inputs, const std::string& to, const MergeSettings& settings) try {
  require_free(to, settings.replace);
  Merge merge(inputs, settings);
  for (;;) {
    merge.choose();
    const UnfinishedFile unfinished(to);
    try {
      const auto target = open_store_for_appending(unfinished.path(), Durability::draft);
      if (!merge.write(*target)) {
        merge.begin_again();
        continue;
      }
      target->execute("PRAGMA journal_mode = DELETE;");
    } catch (const Error& error) {
      throw Error(error.kind(), unfinished.with_target_name(error.what()));
    }
    unfinished.keep(settings.replace);
    return merge.report;
  }
} catch (const Interrupted&) {
  return std::nullopt;
}

}  // namespace deepgap
