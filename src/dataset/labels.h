// Labels: the class that each sample of a Dataset shows, out of the folders that files lie in or out of a file. docs/reference/datasets.md
// has the forms. Every error is an Error{input} that names file and line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct Labels {
  std::vector<int64_t> classes;  // class of sample i
  std::string source;            // "val_map.txt", "10 folders": for descriptions
};

// A file of labels, its lines still unread: val_map.txt, CSV, a plain list, a list of class names; or .npy.
class LabelFile {
 public:
  explicit LabelFile(const std::string& path);

  const std::string& path() const { return path_; }
  // It says, a class a line, which folder is which class: a line is a name of `folders`, or begins with one.
  bool lists_classes(const std::vector<std::string>& folders) const;
  // The place of each of `folders` in that list.
  std::vector<int64_t> classes_of(const std::vector<std::string>& folders) const;

  struct Entry {
    std::string file;  // empty: labels come in the order of the samples
    int64_t label = 0;
    std::string where;  // "labels.csv:3"
  };
  std::vector<Entry> entries() const;

 private:
  struct Line {
    size_t number = 0;
    std::string text;
  };
  Entry entry_of(const Line& line) const;

  std::string path_;
  std::vector<Line> lines_;
  std::vector<Entry> array_;  // the labels of a .npy file
};

// A file that a list names, with its label.
struct LabelledFiles {
  std::vector<std::string> paths;
  Labels labels;
};
// Returns the files below `folder` that `list` names, in its order. Only those in `present` may be named; a file left out is an error.
LabelledFiles files_of_list(const LabelFile& list, const std::string& folder, const std::vector<std::string>& present);
// Labels without names, for `samples` samples in their order.
Labels labels_in_order(const LabelFile& list, size_t samples, const std::string& dataset);
bool names_files(const LabelFile& list);

// Adds `offset`. Throws where a label is not below `classes` (0: not known) or is negative.
void place_labels(Labels& labels, int64_t offset, int64_t classes);

}  // namespace deepgap
