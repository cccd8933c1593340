#include "fleet/relay.h"

#include "base/console.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "fleet/program.h"
#include "run/interrupts.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

constexpr auto between_fetches = std::chrono::seconds(5);
constexpr const char* remedy = "OpenSSH's client is to be there, or name another with --ssh";

class Relay {
 public:
  Relay(const Fleet& fleet, std::string host, int task)
      : fleet_(fleet), host_(std::move(host)), task_(task), there_(".deepgap-fleet/" + fleet.id), name_(fmt::format("{:06}", task)) {
    const auto ssh = fleet.options.find("ssh");
    ssh_ = find_program(ssh == fleet.options.end() || ssh->second.empty() ? "ssh" : ssh->second);
    if (ssh_.empty()) throw Error(ErrorKind::input, fmt::format("there is no program ssh: {}", remedy));
  }

  int run() {
    prepare();
    SubprocessOptions options;
    options.program = ssh_;
    options.arguments =
        command(fmt::format("cd {} && echo $$ >tasks/{}.pid && exec env DEEPGAP_NODE={} flock -F ../host.lock {} fleet task . {}", there_,
                            name_, shell_word(host_), program(), task_));
    Subprocess process(options);
    Interrupts interrupts;
    bool asked_to_end = false;
    auto next = std::chrono::steady_clock::now() + between_fetches;
    std::optional<ExitState> exit;
    while (!(exit = process.wait(std::chrono::milliseconds(100)))) {
      if (interrupts.count() > 0 && !asked_to_end) {
        asked_to_end = true;
        there(fmt::format("kill -TERM $(cat {}/tasks/{}.pid)", there_, name_));
      }
      if (std::chrono::steady_clock::now() < next) continue;
      fetch();
      next = std::chrono::steady_clock::now() + between_fetches;
    }
    fetch();
    say(stderr, process.output_tail());
    if (exit->code == 255) say(stderr, fmt::format("deepgap: {} is not reached by ssh, or was lost\n", host_));
    return exit->code;
  }

 private:
  std::vector<std::string> command(const std::string& what) const {
    return {ssh_, "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "--", host_, what};
  }
  ProgramResult there(const std::string& what) const { return run_program(command(what), remedy); }

  // Through a shell of ours for its pipe alone; every word is an argument, none is part of the text.
  void pipe(const std::string& script, const std::vector<std::string>& arguments) const {
    std::vector<std::string> call{"/bin/sh", "-c", script, "sh"};
    call.insert(call.end(), arguments.begin(), arguments.end());
    const ProgramResult result = run_program(call, "", std::chrono::seconds(600));
    if (!result.exit.ok()) throw Error(ErrorKind::input, fmt::format("{}: {}", host_, trim(result.output)));
  }

  std::string program() const { return fleet_.bundle.empty() ? shell_word(fleet_.program) : "bundle/bin/deepgap"; }

  void prepare() const {
    const ProgramResult made =
        there(fmt::format("mkdir -p {0}/tasks {0}/parts && test -x {0}/bundle/bin/deepgap && echo unpacked; true", there_));
    if (!made.exit.ok()) throw Error(ErrorKind::input, fmt::format("{} is not reached by ssh: {}", host_, trim(made.output)));
    const std::string send = "tar -C \"$1\" -cf - fleet.json \"tasks/$2.json\" | \"$3\" -o BatchMode=yes -- \"$4\" \"tar -C $5 -xf -\"";
    pipe(send, {fleet_.folder, name_, ssh_, host_, there_});
    if (!fleet_.bundle.empty() && made.output.find("unpacked") == std::string::npos) {
      const std::string unpack = fmt::format(
          "mkdir -p {0}/bundle.new && tar -C {0}/bundle.new --strip-components=1 -xzf - && mv -T {0}/bundle.new {0}/bundle", there_);
      pipe("\"$1\" -o BatchMode=yes -- \"$2\" \"$3\" <\"$4\"", {ssh_, host_, unpack, fleet_.bundle});
    }
  }

  // Whole files alone; each appears under its name when it is whole here too. What does not arrive now does later.
  void fetch() const {
    const std::string arrived = fmt::format("{}/parts/.from-{}-{}", fleet_.folder, name_, ::getpid());
    std::error_code error;
    make_directories(arrived);
    try {
      pipe(
          "\"$1\" -o BatchMode=yes -- \"$2\" \"cd $3/parts && ls -d $4/*.db $4/*.json 2>/dev/null | tar -cf - -T -\" | tar -C \"$5\" -xf -",
          {ssh_, host_, there_, name_, arrived});
      make_directories(fleet_.parts_of(task_));
      // Attempts last: one that says it is done has its Store here.
      for (const char* ending : {".db", ".json"}) {
        for (fs::directory_iterator entry(arrived + "/" + name_, error), end; !error && entry != end; entry.increment(error)) {
          if (entry->path().extension() == ending) fs::rename(entry->path(), fleet_.parts_of(task_) / entry->path().filename(), error);
        }
      }
    } catch (const Error& failure) {
      say(stderr, fmt::format("deepgap: note: {}\n", failure.what()));
    }
    fs::remove_all(arrived, error);
  }

  const Fleet& fleet_;
  std::string host_;
  int task_;
  std::string there_, name_, ssh_;
};

}  // namespace

int relay_task(const Fleet& fleet, const std::string& host, int task) {
  try {
    return Relay(fleet, host, task).run();
  } catch (const Error& error) {
    Attempt attempt;  // so that status shows it by host
    attempt.id = "relay-" + std::to_string(::getpid());
    attempt.task = task;
    attempt.node = host;
    attempt.state = Attempt::State::failed;
    attempt.reason = error.what();
    make_directories(fleet.parts_of(task));
    write_attempt(fleet, attempt);
    say(stderr, fmt::format("deepgap: {}\n", error.what()));
    return 1;
  }
}

}  // namespace deepgap
