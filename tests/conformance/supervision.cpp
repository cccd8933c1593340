#include "supervision.h"

#include "blame.h"
#include "kept_case.h"

#include "base/file.h"
#include "base/subprocess.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace deepgap::conformance {
namespace {

namespace fs = std::filesystem;

// Appended to by the child: "begin NAME", "end NAME".
std::string journal_in(const std::string& faults) { return faults + "/journal.txt"; }

class Journal : public testing::EmptyTestEventListener {
 public:
  explicit Journal(const std::string& path) : file_(path, std::ios::app) {}
  void OnTestStart(const testing::TestInfo& test) override { write("begin", test); }
  void OnTestEnd(const testing::TestInfo& test) override { write("end", test); }

 private:
  void write(const char* what, const testing::TestInfo& test) {
    file_ << what << ' ' << test.test_suite_name() << '.' << test.name() << std::endl;  // at once: the next line may never come
  }

  std::ofstream file_;
};

struct Noted {
  std::vector<std::string> begun;
  std::string last;
};

Noted read_journal(const std::string& faults) {
  Noted noted;
  if (!fs::exists(journal_in(faults))) return noted;
  for (const std::string& line : split(read_text(journal_in(faults)), '\n')) {
    if (!line.starts_with("begin ")) continue;
    noted.last = line.substr(6);
    noted.begun.push_back(noted.last);
  }
  return noted;
}

std::string emptied_folder(const std::string& backend, const std::string& asked) {
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "faults" / backend;
  std::error_code error;
  for (const fs::path& folder : {asked.empty() ? own : fs::path(asked), fs::temp_directory_path() / fmt::format("faults-{}", ::getpid())}) {
    fs::remove_all(folder, error);
    fs::create_directories(folder, error);
    if (!error && ::access(folder.c_str(), W_OK) == 0) return folder.string();
  }
  throw Error(ErrorKind::input, "no folder to keep faults in can be written: name one with --faults");
}

// GoogleTest's filter without the tests that were begun. They stand behind the '-' of the filter that was given.
std::string filter_without(const std::vector<std::string>& arguments, const std::vector<std::string>& begun) {
  const std::string flag = "--gtest_filter=";
  std::string filter = "*";
  for (const std::string& argument : arguments)
    if (argument.starts_with(flag)) filter = argument.substr(flag.size());
  return flag + filter + (filter.find('-') == std::string::npos ? "-" : ":") + join(begun, ":");
}

// Cases that were kept stay; what the suite itself wrote goes.
void tidy(const std::string& faults) {
  std::error_code ignored;
  fs::remove_all(running_folder(), ignored);
  fs::remove(journal_in(faults), ignored);
  if (fs::is_empty(faults, ignored)) fs::remove(faults, ignored);
}

}  // namespace

bool is_of_others(const std::string& backend) {
  return backend == "openvino" || backend == "onnxruntime" || backend == "libtorch" || backend == "libtorch_cuda" ||
         backend == "tensorflow" || backend == "xla";
}

int run_again(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.begin() + 1, more.begin(), more.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(126);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) throw Error(ErrorKind::internal, "the suite cannot start itself again");
  return status;
}

int exit_code_of(const std::string& backend, int status) {
  if (WIFSIGNALED(status)) fmt::print("FAILED {}: killed by signal {}\n", backend, WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int supervise(const std::string& backend, const std::string& asked, const std::vector<std::string>& arguments) {
  const std::string faults = emptied_folder(backend, asked);
  set_faults_folder(faults);
  std::vector<std::string> more{"--inside", "--faults", faults};
  bool ours = false;
  for (int crashes = 0;; ++crashes) {
    // The last filter holds.
    std::vector<std::string> again = arguments;
    if (crashes > 0) again.push_back(filter_without(arguments, read_journal(faults).begun));
    const int status = run_again(again, more);
    const Noted noted = read_journal(faults);
    if (WIFEXITED(status) || noted.last.empty() || crashes == 20) {
      tidy(faults);
      const int code = exit_code_of(backend, status);
      return ours && code == 0 ? 1 : code;
    }
    bool own = true;
    const std::string words = blame_crash(backend, noted.last, ExitState{0, WTERMSIG(status)}.describe(), own);
    fmt::print("{} {}\n", own ? "FAILED" : "FAULT", words);
    ours = ours || own;
  }
}

void note_tests_in(const std::string& faults) {
  set_faults_folder(faults);
  testing::UnitTest::GetInstance()->listeners().Append(new Journal(journal_in(faults)));
}

}  // namespace deepgap::conformance
