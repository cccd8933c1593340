// Tables that users write: labels in all their forms, and calibration tables; the first byte says which.
#include "dataset/labels.h"
#include "file_of_bytes.h"
#include "fuzz.h"
#include "quantize/calibration_table.h"

#include <cstdlib>

using namespace deepgap;

namespace {

void read_labels(const std::string& path) {
  const LabelFile list(path);
  const std::vector<std::string> folders{"n01440764", "cat", "dog"};
  if (list.lists_classes(folders)) {
    list.classes_of(folders);
    return;
  }
  if (names_files(list)) {
    LabelledFiles files = files_of_list(list, "/pictures", {"/pictures/a.png", "/pictures/b.png"});
    place_labels(files.labels, -1, 10);
    return;
  }
  Labels labels = labels_in_order(list, 3, "fuzz");
  place_labels(labels, 1, 1000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("tables accepted");
  static fuzz::FileOfBytes file;
  if (size == 0) return -1;
  if (data[0] % 2 == 0) {
    const std::string& path = file.hold(data + 1, size - 1);
    share.count(fuzz::accepts([&] { read_labels(path); }));
    return 0;
  }
  share.count(fuzz::accepts([&] {
    const CalibrationTable table = parse_table(std::string(fuzz::text_of(data + 1, size - 1)), "fuzz");
    // Texts for people are written as one printable line.
    const CalibrationTable again = parse_table(table_text(table), "again");
    if (again.ranges != table.ranges || again.model_hash != table.model_hash) std::abort();
  }));
  return 0;
}
