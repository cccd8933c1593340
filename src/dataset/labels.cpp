#include "dataset/labels.h"

#include "base/file.h"
#include "base/text.h"
#include "base/words.h"
#include "dataset/npy.h"
#include "model/eval/element_types.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

// A cause may quote the file.
[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::input, printable(cause)); }

constexpr std::string_view blanks = " \t";

std::string first_word(const std::string& line) { return line.substr(0, line.find_first_of(" \t,")); }

std::string unquoted(std::string_view text) {
  std::string plain = trim(text);
  if (plain.size() >= 2 && plain.front() == '"' && plain.back() == '"') plain = plain.substr(1, plain.size() - 2);
  return plain;
}

// Splits a line at its last comma or, if there is none, at its last blank: the name before it, the label after it.
std::pair<std::string, std::string> halves_of(const std::string& line) {
  const size_t comma = line.rfind(','), cut = comma != std::string::npos ? comma : line.find_last_of(blanks);
  if (cut == std::string::npos) return {"", unquoted(line)};
  return {unquoted(std::string_view(line).substr(0, cut)), unquoted(std::string_view(line).substr(cut + 1))};
}

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

}  // namespace

LabelFile::LabelFile(const std::string& path) : path_(path) {
  if (fs::path(path).extension() == ".npy") {
    const Tensor tensor = read_npy(path);
    const bool whole = tensor.type != DataType::f32 && tensor.type != DataType::f64 && tensor.type != DataType::f16;
    const size_t count = static_cast<size_t>(element_count(tensor.shape));
    if (!whole || tensor.shape.empty() || tensor.shape.front() != static_cast<int64_t>(count))
      fail(fmt::format("cannot read labels from {}: it is not a list of whole numbers", path));
    const Tensor numbers = converted(tensor, DataType::i64);
    for (size_t i = 0; i < count; ++i) array_.push_back({"", numbers.as<int64_t>()[i], fmt::format("{}[{}]", file_name(path), i)});
    return;
  }
  size_t number = 0;
  for (const std::string& line : split(read_text(path), '\n')) {
    ++number;
    if (const std::string text = trim(line); !text.empty() && text.front() != '#') lines_.push_back({number, text});
  }
  // The header of a CSV is not a sample.
  if (!lines_.empty() && lines_[0].text.find(',') != std::string::npos && lines_.size() > 1 &&
      !parse_int(halves_of(lines_[0].text).second) && parse_int(halves_of(lines_[1].text).second))
    lines_.erase(lines_.begin());
  if (lines_.empty()) fail(fmt::format("cannot read labels from {}: it holds none", path));
}

bool LabelFile::lists_classes(const std::vector<std::string>& folders) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) {
    return std::binary_search(folders.begin(), folders.end(), line.text) ||
           std::binary_search(folders.begin(), folders.end(), first_word(line.text));
  });
}

std::vector<int64_t> LabelFile::classes_of(const std::vector<std::string>& folders) const {
  std::vector<int64_t> classes;
  for (const std::string& folder : folders) {
    const auto found = std::find_if(lines_.begin(), lines_.end(),
                                    [&](const Line& line) { return line.text == folder || first_word(line.text) == folder; });
    if (found == lines_.end()) fail(fmt::format("{} lists {} classes, and none of them is the folder '{}'", path_, lines_.size(), folder));
    classes.push_back(found - lines_.begin());
  }
  return classes;
}

LabelFile::Entry LabelFile::entry_of(const Line& line) const {
  const auto [name, text] = halves_of(line.text);
  const std::string where = fmt::format("{}:{}", file_name(path_), line.number);
  const auto label = parse_int(text);
  if (!label)
    fail(fmt::format(
        "{}: '{}' is not the number of a class; expected a file and its class, as in 'cat.png,3' or 'cat.png 3', or a class alone", where,
        text));
  return {name, *label, where};
}

std::vector<LabelFile::Entry> LabelFile::entries() const {
  if (!array_.empty()) return array_;
  std::vector<Entry> entries;
  for (const Line& line : lines_) {
    entries.push_back(entry_of(line));
    if (entries.back().file.empty() != entries.front().file.empty())
      fail(fmt::format("{}: some lines name a file and some do not", entries.back().where));
  }
  return entries;
}

bool names_files(const LabelFile& list) {
  const auto entries = list.entries();
  return !entries.empty() && !entries.front().file.empty();
}

LabelledFiles files_of_list(const LabelFile& list, const std::string& folder, const std::vector<std::string>& present) {
  LabelledFiles files;
  files.labels.source = file_name(list.path());
  std::set<fs::path> named;
  for (const LabelFile::Entry& entry : list.entries()) {
    const fs::path path = (fs::path(folder) / entry.file).lexically_normal();
    std::error_code error;
    if (!fs::is_regular_file(path, error)) fail(fmt::format("{} names {}, which is not in {}", entry.where, entry.file, folder));
    if (!named.insert(path).second) fail(fmt::format("{} names {} once more", entry.where, entry.file));
    files.paths.push_back(path.string());
    files.labels.classes.push_back(entry.label);
  }
  const auto without = std::find_if(present.begin(), present.end(),
                                    [&](const std::string& path) { return !named.contains(fs::path(path).lexically_normal()); });
  if (without != present.end())
    fail(fmt::format("{} has labels for {} of {} samples in {}; {} has none", list.path(), named.size(), present.size(), folder,
                     file_name(*without)));
  return files;
}

Labels labels_in_order(const LabelFile& list, size_t samples, const std::string& dataset) {
  Labels labels{{}, file_name(list.path())};
  for (const LabelFile::Entry& entry : list.entries()) {
    if (!entry.file.empty())
      fail(fmt::format("{} names {}, but the samples of {} are not such files: give a class a line, in their order", entry.where,
                       entry.file, dataset));
    labels.classes.push_back(entry.label);
  }
  if (labels.classes.size() != samples)
    fail(fmt::format("{} holds {} labels, {} has {} samples", list.path(), labels.classes.size(), dataset, samples));
  return labels;
}

void place_labels(Labels& labels, int64_t offset, int64_t classes) {
  for (size_t i = 0; i < labels.classes.size(); ++i) {
    int64_t& label = labels.classes[i];
    int64_t placed = 0;
    if (__builtin_add_overflow(label, offset, &placed)) placed = -1;  // beyond every range
    if (placed < 0 || (classes > 0 && placed >= classes)) {
      const std::string shifted = offset == 0 ? "" : fmt::format(" (with label_offset {})", offset);
      const std::string range =
          classes > 0 ? fmt::format("the network has {} classes, 0 to {}", classes, classes - 1) : std::string("classes count from 0");
      fail(fmt::format("labels by {}: label {}{} of sample {} is out of range: {}", labels.source, label, shifted, i, range));
    }
    label = placed;
  }
}

}  // namespace deepgap
