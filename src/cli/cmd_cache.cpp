// `deepgap cache list` and `deepgap cache clear`: what the cache folder holds, and taking it away. Whatever is not of the names that
// deepgap gives is left alone, since --cache may name any folder.
#include "base/console.h"
#include "base/dump_json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "run/progress.h"
#include "run/text_table.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

struct CacheKind {
  const char* name;
  const char* folder;  // subfolder of the cache; empty: the cache itself
  std::string_view begins, holds;
  const char* is;
};
constexpr std::array<CacheKind, 6> kinds{{
    {"references", "references", "", ".safetensors", "reference outputs that engines are checked against"},
    {"quantized", "quantized", "", ".onnx", "networks quantized to INT8"},
    {"weights", "", "seeded-", ".safetensors", "statistics of seeded weights"},
    {"ceilings", "ceilings", "", ".json", "measured peaks of this machine"},
    {"kernels", "native-cuda", "", ".cubin", "compiled kernels of native on a GPU"},
    {"tuning", "native-cuda", "tuned-", ".txt", "kernel variants that were fastest"},
}};

struct Held {
  const CacheKind* kind;
  std::string path;
  std::vector<std::string> files;
  uintmax_t bytes = 0;
};

// Links are not followed: what they lead to is not the cache's.
Held held_of(const CacheKind& kind, const std::string& cache) {
  Held held{&kind, *kind.folder == '\0' ? cache : cache + "/" + kind.folder, {}};
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(held.path, error))) return held;
  for (fs::directory_iterator entry(held.path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code gone;  // another process may take it away
    if (!name.starts_with(kind.begins) || name.find(kind.holds) == std::string::npos) continue;
    if (!fs::is_regular_file(entry->symlink_status(gone))) continue;
    const uintmax_t bytes = entry->file_size(gone);
    if (gone) continue;
    held.files.push_back(entry->path().string());
    held.bytes += bytes;
  }
  return held;
}

void clear(const Held& held) {
  for (const std::string& file : held.files) {
    std::error_code error;
    fs::remove(file, error);
    if (error) throw Error(ErrorKind::input, fmt::format("cannot remove {}: {}", file, error.message()));
  }
}

class CacheCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("kind", words_, "Action: list or clear, then the kinds [default: list, all kinds]")->type_name("[list|clear] [KIND]");
    app.add_option("--cache", cache_, "Use this folder instead of the default one")->type_name("DIR");
    clear_ = app.add_option("--clear", cleared_, "Remove everything, or one kind, as clear does")->expected(0, 1)->type_name("[KIND]");
    app.add_flag("--json", json_, "Print JSON");
  }

  Features features() const override {
    Features features = given;
    if (!words_.empty() && words_.front() == "list") features.emplace("list", "list");
    return features;
  }

  int run() override {
    const std::string cache = cache_or_default(cache_);
    const std::string verb = take_verb();
    const bool clears = verb == "clear" || clear_->count() > 0;
    if (!cleared_.empty()) words_.push_back(cleared_);
    for (const std::string& word : words_) require_kind(word, verb.empty() && !clears);
    std::vector<Held> all;
    for (const CacheKind& kind : kinds) {
      if (words_.empty() || std::find(words_.begin(), words_.end(), kind.name) != words_.end()) all.push_back(held_of(kind, cache));
    }
    if (clears) {
      for (const Held& held : all) clear(held);
    }
    if (json_) {
      print_json(cache, all, clears);
    } else {
      print_table(cache, all, clears);
    }
    return exit_ok;
  }

 private:
  // The first word where it is one; the kinds are left.
  std::string take_verb() {
    if (words_.empty() || (words_.front() != "list" && words_.front() != "clear")) return "";
    std::string verb = words_.front();
    words_.erase(words_.begin());
    return verb;
  }

  static void require_kind(const std::string& name, bool or_verb) {
    std::vector<std::string> known;
    if (or_verb) known = {"list", "clear"};
    for (const CacheKind& kind : kinds) known.emplace_back(kind.name);
    if (std::find(known.begin(), known.end(), name) == known.end()) throw Error(ErrorKind::usage, unknown_name("kind", name, known));
  }

  static void print_json(const std::string& cache, const std::vector<Held>& all, bool cleared) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Held& held : all) {
      rows.push_back({{"kind", held.kind->name}, {"files", held.files.size()}, {"bytes", held.bytes}, {"path", held.path}});
    }
    const nlohmann::json answer{{"folder", cache}, {"cleared", cleared}, {"kinds", rows}};
    fmt::print("{}", dump_indented(answer));
  }

  static void print_table(const std::string& cache, const std::vector<Held>& all, bool cleared) {
    uintmax_t bytes = 0;
    size_t files = 0;
    std::vector<TextColumn> columns{{"kind", false, {}}, {"files", true, {}}, {"size", true, {}}, {"contents", false, {}}};
    const auto add = [&](const std::string& kind, size_t number, uintmax_t size, const std::string& contents) {
      const std::string cells[] = {kind, std::to_string(number), format_bytes(static_cast<double>(size)), contents};
      for (size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
    };
    for (const Held& held : all) {
      bytes += held.bytes;
      files += held.files.size();
      add(held.kind->name, held.files.size(), held.bytes, held.kind->is);
    }
    add("all", files, bytes, "");
    print_wrapped((cleared ? "removed from " : "") + cache + "\n");
    print_text(fitted_table(columns, terminal_columns(stdout), {}));
  }

  std::vector<std::string> words_;
  std::string cache_, cleared_;
  CLI::Option* clear_ = nullptr;
  bool json_ = false;
};

const bool registered = add_command<CacheCommand>({"cache",
                                                   {CommandGroup::system, 5},
                                                   "List or clear the cache folder",
                                                   "  deepgap cache list                  show kinds, files, bytes and folder\n"
                                                   "  deepgap cache clear references      remove the references\n",
                                                   {},
                                                   {"clear", "list"}});

}  // namespace
}  // namespace deepgap
