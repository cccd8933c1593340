// A folder that stands for "/" in tests, removed with its content at the end.
#pragma once

#include "base/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace deepgap {

class FakeRoot {
 public:
  const std::string& path() const { return folder_.path(); }
  FakeRoot& with(const std::string& file, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(path() + file).parent_path());
    std::ofstream(path() + file) << content;
    return *this;
  }
  void without(const std::string& file) { std::filesystem::remove_all(path() + file); }

 private:
  TemporaryFolder folder_;
};

inline constexpr const char* fake_cpuinfo =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Example CPU @ 2.10GHz\nstepping\t: 2\n"
    "microcode\t: 0x2b000590\nflags\t\t: fpu sse4_2 avx avx2 avx512f amx_tile made_up_flag\n";
inline constexpr const char* fake_stat = "cpu  1000 100 500 8000 200 10 20 70 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nprocs_running 3\n";

}  // namespace deepgap
