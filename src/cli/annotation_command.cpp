#include "cli/annotation_command.h"

#include "analysis/words.h"
#include "base/byte_text.h"
#include "base/dump_json.h"
#include "base/words.h"
#include "cli/confined.h"
#include "cli/stores.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

namespace deepgap {
namespace {

constexpr size_t longest_tag = 100, longest_note = 4000;

// Lists of tags have commas and semicolons between, and several values of a selection a bar.
void check_tag(const std::string& tag) {
  const bool plain = std::all_of(tag.begin(), tag.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("._:/+-").find(c) != std::string_view::npos;
  });
  if (!plain || tag.size() > longest_tag || tag.starts_with('-'))
    throw Error(ErrorKind::usage,
                fmt::format("invalid tag '{}': expected at most {} letters, digits and . _ : / + -", printable(tag), longest_tag));
}

void check_note(const std::string& note) {
  if (note != printable(note)) throw Error(ErrorKind::usage, "a note is one line without control characters");
  if (note != as_utf8(note)) throw Error(ErrorKind::usage, "a note is UTF-8 text");
  if (note.size() > longest_note) throw Error(ErrorKind::usage, fmt::format("a note has at most {} bytes", longest_note));
}

}  // namespace

void AnnotationCommand::declare(CLI::App& app) {
  const bool is_tag = kind_ == AnnotationKind::tag;
  app.add_option("store", store_, "Store that has the records")->type_name("STORE")->required();
  app.add_option("text", text_, is_tag ? "Tag to set [default: list tags]" : "Note to add [default: list notes]")
      ->type_name(is_tag ? "NAME" : "TEXT");
  app.add_flag("--remove", remove_,
               is_tag ? "Remove the tag; without NAME, remove all tags of the selected records"
                      : "Remove the note; without TEXT, remove all notes of the selected records");
  app.add_flag("--json", json_, "Print the list as JSON");
  which_.declare(app);
}

int AnnotationCommand::run() {
  const Selection selection = which_.selection();
  if (!text_.empty()) kind_ == AnnotationKind::tag ? check_tag(text_) : check_note(text_);
  if (remove_ && text_.empty() && selection.empty())
    throw Error(ErrorKind::usage, fmt::format("--remove: name the {}, or select the records that lose all", name_of(kind_)));
  return work_confined(limits_of_stores({store_}, ""), [&] { return text_.empty() && !remove_ ? list(selection) : change(selection); });
}

int AnnotationCommand::list(const Selection& selection) const {
  std::map<std::string, int64_t> counts;
  look_at_selected({store_}, selection, false, [&](const Store&, const Record& record) {
    for (const std::string& text : texts_of(record.annotations, kind_)) ++counts[text];
  });
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [text, records] : counts) {
    if (json_) {
      rows.push_back({{std::string(name_of(kind_)), text}, {"records", records}});
    } else {
      fmt::print("{:>7}  {}\n", records, printable(text));
    }
  }
  if (json_) fmt::print("{}", dump_indented(rows));
  if (!json_ && counts.empty()) fmt::print("no {}s\n", name_of(kind_));
  return exit_ok;
}

int AnnotationCommand::change(const Selection& selection) const {
  std::vector<std::string> ids;
  look_at_selected({store_}, selection, false, [&](const Store&, const Record& record) { ids.push_back(record.record_id); });
  if (ids.empty()) refuse_empty_selection({store_}, selection);
  Store store(store_, Store::Mode::append);
  const auto all = static_cast<int64_t>(ids.size());
  const std::string records = count_of(all, "record", "records");
  if (remove_) {
    const int64_t gone = store.remove_annotation(ids, kind_, text_.empty() ? std::nullopt : std::optional(text_));
    fmt::print("{} removed from {}\n", count_of(gone, std::string(name_of(kind_)), std::string(name_of(kind_)) + "s"), records);
    return exit_ok;
  }
  const int64_t added = store.annotation(ids, kind_, text_);
  const std::string before = added == all ? "" : fmt::format(", {} of them before", all - added);
  fmt::print("{} {} the {} '{}'{}\n", records, all == 1 ? "has" : "have", name_of(kind_), text_, before);
  return exit_ok;
}

}  // namespace deepgap
