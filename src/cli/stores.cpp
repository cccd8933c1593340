#include "cli/stores.h"

#include "base/text.h"
#include "cli/selection.h"
#include "cli/written_paths.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <unordered_set>

namespace deepgap {

namespace {

using Visit = std::function<void(const Store&, const Record&)>;

void look_at(const std::vector<std::string>& paths, bool anonymous, const std::function<bool(const Record&)>& wanted, const Visit& visit) {
  std::vector<std::unique_ptr<Store>> stores;
  for (const std::string& path : paths) stores.push_back(std::make_unique<Store>(path, Store::Mode::read));
  std::unordered_set<std::string> seen;
  const auto is_new = [&](const Record& record) { return stores.size() == 1 || seen.insert(record.record_id).second; };
  if (!anonymous) {
    for (const auto& store : stores) {
      store->look([&](const Record& record) {
        if (wanted(record) && is_new(record)) visit(*store, record);
      });
    }
    return;
  }
  // A name may be given away by a later Record than the one that hides it: two passes.
  Anonymizer anonymizer;
  for (const auto& store : stores) store->look([&](const Record& record) { anonymizer.learn(record); });
  for (const auto& store : stores) {
    store->each([&](Record&& record) {
      if (!wanted(record) || !is_new(record)) return;
      anonymizer.apply(record);
      visit(*store, record);
    });
  }
}

}  // namespace

void look_at_stores(const std::vector<std::string>& paths, bool anonymous, const Visit& visit) {
  look_at(
      paths, anonymous, [](const Record&) { return true; }, visit);
}

void look_at_selected(const std::vector<std::string>& paths, const Selection& selection, bool anonymous, const Visit& visit) {
  bool any = selection.empty();
  look_at(
      paths, anonymous, [&](const Record& record) { return selection.holds(record); },
      [&](const Store& store, const Record& record) {
        any = true;
        visit(store, record);
      });
  if (!any) refuse_empty_selection(paths, selection);
}

void refuse_empty_selection(const std::vector<std::string>& paths, const Selection& selection) {
  const std::string why = selection.why_none([&](const std::function<void(const Record&)>& each) {
    look_at_stores(paths, false, [&](const Store&, const Record& record) { each(record); });
  });
  throw Error(ErrorKind::usage, fmt::format("{}: {}", store_names(paths), why));
}

void check_page_path(const std::string& path, const std::vector<std::string>& stores) {
  if (path.empty()) return;
  const std::filesystem::path file(path);
  if (file.extension() != ".html" && file.extension() != ".htm")
    throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --output: expected a page, such as NAME.html", path));
  require_folder_of("--output", path);
  std::error_code ignored;
  for (const std::string& store : stores) {
    if (std::filesystem::equivalent(path, store, ignored))
      throw Error(ErrorKind::usage, fmt::format("--output {} is the store itself: name another file", path));
  }
}

std::string store_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(std::filesystem::path(path).filename().string());
  return join(names, ", ");
}

}  // namespace deepgap
