// Records of one or several Stores, as `report` and `export` take them.
#pragma once

#include <deepgap/record.h>

#include <functional>
#include <string>
#include <vector>

namespace deepgap {

class Selection;
class Store;

// Visits every Record of every Store, one Store after the other, with the Store it is from. A Record that several of them hold (a Store and
// its copy) is visited once. With `anonymous`, without what identifies who and where: a name that one Store gives away goes from the others
// too. Throws Error{input} where one of them cannot be read, before the first visit unless it is damaged further on.
void look_at_stores(const std::vector<std::string>& paths, bool anonymous, const std::function<void(const Store&, const Record&)>& visit);

// Visits the Records that the selection holds for, by what they say before they are made anonymous. Throws Error{usage} that names the
// reason if there are none; an empty selection holds for every Record, also if there are none.
void look_at_selected(const std::vector<std::string>& paths, const Selection& selection, bool anonymous,
                      const std::function<void(const Store&, const Record&)>& visit);
// Throws for commands that walk the Stores themselves and found no selected Record.
[[noreturn]] void refuse_empty_selection(const std::vector<std::string>& paths, const Selection& selection);

// "h100.db", "h100.db, h200.db": without folders.
std::string store_names(const std::vector<std::string>& paths);

// Checks the path of a page that is written beside what is printed: throws Error{usage} where it is not named .html, its folder is not
// there, or it is one of the Stores. An empty path is fine.
void check_page_path(const std::string& path, const std::vector<std::string>& stores);

}  // namespace deepgap
