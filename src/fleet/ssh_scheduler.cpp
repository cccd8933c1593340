// Scheduler `ssh`: machines that OpenSSH reaches, without a queue and without a shared disk; one task at a time on each.
#include "base/file.h"
#include "base/registry.h"
#include "base/text.h"
#include "fleet/lanes.h"
#include "fleet/program.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

class SshScheduler final : public LaneScheduler {
 public:
  std::vector<SchedulerOption> options() const override {
    return {{"hosts", "ssh: file with a host on each line, as ssh takes it: node7, me@10.0.0.7, an alias; # begins a comment", "FILE"},
            {"ssh", "ssh: run this program instead of ssh; it takes the same arguments", "PROGRAM"}};
  }
  double prepare(Fleet& fleet) override {
    std::string& file = fleet.options["hosts"];
    if (file.empty()) throw Error(ErrorKind::usage, "--scheduler ssh needs --hosts FILE, with one host a line");
    hosts_of(file);
    file = std::filesystem::absolute(file).string();
    const auto ssh = fleet.options.find("ssh");
    const std::string program = ssh == fleet.options.end() ? "ssh" : ssh->second;
    if (find_program(program).empty())
      throw Error(ErrorKind::input, fmt::format("{} is not in $PATH: install OpenSSH's client, or name another with --ssh", program));
    if (program.find('/') != std::string::npos) fleet.options["ssh"] = std::filesystem::absolute(program).string();
    return 0;
  }
  void gather(const Fleet& /*fleet*/) override {}  // relays fetch as the tasks go

 protected:
  std::vector<std::string> lanes(const Fleet& fleet) const override { return hosts_of(fleet.options.at("hosts")); }
  SubprocessOptions command(const Fleet& fleet, const std::string& lane, int task) override {
    SubprocessOptions options;
    options.program = "/proc/self/exe";
    options.arguments = {"deepgap", "fleet", "relay", fleet.folder, std::to_string(task), lane};
    return options;
  }

 private:
  // None begins with a dash, which ssh would take for an option.
  static std::vector<std::string> hosts_of(const std::string& file) {
    std::vector<std::string> hosts;
    int number = 0;
    for (const std::string& line : split(read_text(file), '\n')) {
      ++number;
      const std::string host = trim(line.substr(0, line.find('#')));
      if (host.empty()) continue;
      if (host.starts_with("-") || host.find_first_of(" \t'\"\\$`;&|<>()") != std::string::npos)
        throw Error(ErrorKind::input,
                    fmt::format("{}:{}: invalid host '{}': expected one host a line, as ssh takes it", file, number, host));
      if (std::find(hosts.begin(), hosts.end(), host) != hosts.end())
        throw Error(ErrorKind::input, fmt::format("{}:{}: {} is listed twice; each host runs one task at a time", file, number, host));
      hosts.push_back(host);
    }
    if (hosts.empty()) throw Error(ErrorKind::input, fmt::format("{} names no host", file));
    return hosts;
  }
};

const bool registered = Registry<Scheduler>::instance().add("ssh", [] { return std::make_unique<SshScheduler>(); });

}  // namespace
}  // namespace deepgap
