#include "engine/gpu/tuned_file.h"

#include "base/file.h"
#include "base/own_file.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <optional>

namespace deepgap::gpu {
namespace {

// The number is raised where a change of the kernels changes which of them is the fastest.
constexpr const char* first_line = "deepgap's quickest kernels, version 1";

// At a ratio of four one network in four was slower than by the rule, by 7 % (lab-notes/h100-native.md, "Nearest batch").
constexpr double most_ratio = 3;

// One process at a time adds to the files of a folder. Where the file system cannot lock, the last one to write wins.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (folder_.valid() && ::flock(folder_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }

 private:
  FileDescriptor folder_;  // closing it gives the lock back
};

std::optional<long long> count_of(const std::string& text) {
  const auto number = parse_int(text);
  return number && *number >= 0 ? std::optional<long long>(*number) : std::nullopt;
}

}  // namespace

TunedFile::TunedFile(std::string path, std::string_view shipped) : path_(std::move(path)), known_(read(path_)) {
  known_.merge(parse(std::string(shipped)));
}

TunedFile::Winners TunedFile::parse(const std::string& text) {
  Winners winners;
  const auto lines = split(text, '\n');
  if (lines.empty() || lines[0] != first_line) return winners;
  for (const std::string& line : lines) {
    const auto parts = split(line, '\t');
    const auto nanoseconds = parts.size() == 3 ? count_of(parts[2]) : std::nullopt;
    if (nanoseconds) winners[parts[0]] = {parts[1], *nanoseconds};
  }
  return winners;
}

TunedFile::Winners TunedFile::read(const std::string& path) {
  if (path.empty() || !is_own_file(path)) return {};  // or there is none
  try {
    return parse(read_text(path));
  } catch (const Error&) {  // none yet
    return {};
  }
}

const std::string* TunedFile::find(const std::string& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : &found->second.variant;
}

const std::string* TunedFile::find_nearest(const std::string& before, int64_t number, const std::string& behind) const {
  const std::string* nearest = nullptr;
  double least = most_ratio;
  for (auto line = known_.lower_bound(before); line != known_.end() && line->first.starts_with(before); ++line) {
    const std::string& key = line->first;
    if (!key.ends_with(behind) || key.size() <= before.size() + behind.size()) continue;
    const auto other = count_of(key.substr(before.size(), key.size() - before.size() - behind.size()));
    if (!other || *other == 0 || *other == number) continue;
    const auto [fewer, more] = std::minmax({static_cast<int64_t>(*other), number});
    const double ratio = static_cast<double>(more) / static_cast<double>(fewer);
    const bool nearer = ratio < least || (ratio == least && (nearest == nullptr || *other < number));
    if (nearer) nearest = &line->second.variant, least = ratio;
  }
  return nearest;
}

const std::string* TunedFile::find_beginning(const std::string& beginning) const {
  const auto found = known_.lower_bound(beginning);
  return found == known_.end() || !found->first.starts_with(beginning) ? nullptr : &found->second.variant;
}

void TunedFile::add(const std::string& key, const std::string& variant, long long nanoseconds) {
  known_[key] = added_[key] = {variant, nanoseconds};
}

void TunedFile::save() {
  if (path_.empty() || added_.empty()) return;
  const std::string folder = path_.substr(0, path_.rfind('/'));
  try {
    make_directories(folder);
    const FolderLock lock(folder);
    Winners all = read(path_);
    for (const auto& [key, winner] : added_) all[key] = winner;
    std::string text = std::string(first_line) + "\n";
    for (const auto& [key, winner] : all) text += fmt::format("{}\t{}\t{}\n", key, winner.variant, winner.nanoseconds);
    replace_file(path_, text);
    added_.clear();
  } catch (const Error&) {
  }
}

}  // namespace deepgap::gpu
