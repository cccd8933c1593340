// Files of prompts in all their forms, and files of lengths; the first byte says which.
#include "generate/prompt_file.h"

#include "base/parse_json.h"
#include "fuzz.h"
#include "generate/lengths.h"

#include <sys/mman.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace deepgap;

namespace {

constexpr int64_t most = 20;

// A reader goes by the end of the name, so that a file without one does not do.
class NamedFiles {
 public:
  NamedFiles() : folder_(std::filesystem::temp_directory_path() / ("fuzz-prompts-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~NamedFiles() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  NamedFiles(const NamedFiles&) = delete;
  NamedFiles& operator=(const NamedFiles&) = delete;
  std::string hold(const std::string& name, std::string_view text) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  std::filesystem::path folder_;
};

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const std::vector<Prompt>& prompts) {
  require(!prompts.empty() && prompts.size() <= most);
  for (const Prompt& prompt : prompts) {
    require(prompt.unique_at >= 0 && prompt.unique_at <= static_cast<int64_t>(prompt.text.size()));
    require(prompt.input_tokens <= Lengths::most && prompt.output_tokens <= Lengths::most);
    if (prompt.is_conversation) require(parse_json(prompt.text).is_array());
  }
}

void check_lengths(const std::string& path) {
  const Lengths lengths("prompt_tokens", "file:" + path);
  RandomStream random(1, "fuzz");
  for (uint64_t i = 0; i < 10; ++i) {
    const int64_t length = lengths.of_sample(i, random);
    require(length >= 1 && length <= Lengths::most);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("files accepted");
  static NamedFiles files;
  if (size == 0) return -1;
  const char* const names[] = {"a.txt", "a.jsonl", "a.json", "a.csv", "lengths.txt"};
  const size_t which = data[0] % std::size(names);
  const std::string path = files.hold(names[which], fuzz::text_of(data + 1, size - 1));
  share.count(fuzz::accepts([&] {
    if (which == 4) return check_lengths(path);
    check(read_prompts(path, most));
  }));
  return 0;
}
