// Locks of devices between processes: which messages appear, what a dead owner leaves, which files are not touched.
#include "run/device_locks.h"

#include "base/file.h"
#include "base/temporary_folder.h"
#include "run/hold_devices.h"
#include "run/scripted_host.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Another process that holds devices until it is killed.
class OtherRun {
 public:
  OtherRun(const std::string& folder, const std::vector<LockedDevice>& devices) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      DeviceLocks locks(folder, devices, "/there/other.db");
      const char taken = locks.take() ? 'n' : 'y';
      if (::write(ends[1], &taken, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char taken = 0;
    EXPECT_EQ(::read(ends[0], &taken, 1), 1);
    EXPECT_EQ(taken, 'y');
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~OtherRun() { end(); }
  OtherRun(const OtherRun&) = delete;
  OtherRun& operator=(const OtherRun&) = delete;
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

const LockedDevice cpu{"cpu", "cpu", {0, 1}};
const LockedDevice gpu{"cuda:0", "gpu-GPU-1111", {0}};

class DeviceLocksTest : public testing::Test {
 protected:
  TemporaryFolder folder;
  std::string path = folder.path() + "/locks";
};

TEST_F(DeviceLocksTest, who_has_a_device_is_told) {
  const OtherRun other(path, {cpu, gpu});
  DeviceLocks own(path, {cpu}, "own.db");
  const auto owner = own.take();
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->device, "cpu");
  EXPECT_EQ(owner->pid, other.pid());
  EXPECT_THAT(owner_words(*owner), HasSubstr(", into /there/other.db"));
  std::vector<std::string> devices;
  for (const DeviceLockOwner& each : device_lock_owners(path)) devices.push_back(each.device);
  EXPECT_THAT(devices, testing::UnorderedElementsAre("CPUs 0 to 1", "GPU-1111"));
}

TEST_F(DeviceLocksTest, a_dead_holder_holds_nothing) {
  OtherRun other(path, {cpu});
  DeviceLocks own(path, {cpu}, "own.db");
  EXPECT_TRUE(own.take());
  other.end();
  EXPECT_THAT(device_lock_owners(path), IsEmpty());
  EXPECT_FALSE(own.take());
}

TEST_F(DeviceLocksTest, other_cpus_and_other_gpus_are_free) {
  const OtherRun other(path, {cpu, gpu});
  DeviceLocks own(path, {{"cpu", "cpu", {2, 3}}, {"cuda:0", "gpu-GPU-2222", {0}}}, "");
  EXPECT_FALSE(own.take());
}

TEST_F(DeviceLocksTest, all_or_none) {
  OtherRun other(path, {gpu});
  {
    DeviceLocks own(path, {cpu, gpu}, "");
    EXPECT_TRUE(own.take());
    const OtherRun third(path, {cpu});  // what `own` did not keep
  }
  DeviceLocks own(path, {cpu, gpu}, "");
  EXPECT_THAT(own.take_what_is_free(), ElementsAre("cuda:0"));
}

TEST_F(DeviceLocksTest, what_others_put_there_is_not_written_to) {
  std::filesystem::create_directory(path);
  write_file_atomic(folder.path() + "/mine", "mine");
  std::filesystem::create_symlink(folder.path() + "/mine", path + "/cpu");
  EXPECT_THROW(DeviceLocks(path, {cpu}, ""), Error);
  std::filesystem::remove(path + "/cpu");
  std::filesystem::create_hard_link(folder.path() + "/mine", path + "/cpu");
  EXPECT_THROW(DeviceLocks(path, {cpu}, ""), Error);
  EXPECT_EQ(read_text(folder.path() + "/mine"), "mine");
  std::filesystem::create_directory_symlink(path, folder.path() + "/link");
  EXPECT_THROW(DeviceLocks(folder.path() + "/link", {gpu}, ""), Error);
}

TEST_F(DeviceLocksTest, what_a_holder_says_is_one_line_and_may_be_nonsense) {
  const OtherRun other(path, {cpu});
  write_file_atomic(path + "/holder-" + std::to_string(other.pid()), "0\n\x1b[31mred\nstore.db\n");
  EXPECT_THAT(owner_words(device_lock_owners(path).at(0)), testing::Not(HasSubstr("\x1b")));
  write_file_atomic(path + "/holder-" + std::to_string(other.pid()), "nonsense");
  EXPECT_EQ(owner_words(device_lock_owners(path).at(0)), "process " + std::to_string(other.pid()));
}

TEST(LockedDevices, a_gpu_is_known_by_its_uuid_and_a_server_is_not_ours) {
  LockSettings settings{.folder = "/x", .cpus = {0, 3}, .gpu_uuid = [](int index) { return index == 0 ? "GPU-1c5f" : ""; }};
  const auto devices = locked_devices({{"", "cpu", 0}, {"", "cuda", 0}, {"", "cuda", 1}, {"host:8000", "http", 0}}, settings);
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[0].file, "cpu");
  EXPECT_THAT(devices[0].units, ElementsAre(0, 3));
  EXPECT_EQ(devices[1].file, "gpu-GPU-1c5f");
  EXPECT_EQ(devices[2].file, "gpu-cuda:1");
  EXPECT_EQ(devices[2].name, "cuda:1");
}

TEST_F(DeviceLocksTest, a_run_waits_is_refused_or_shares) {
  LockSettings settings{.folder = path, .cpus = {0}};
  const std::set<DeviceId> devices{DeviceId{}};
  std::FILE* out = std::fopen("/dev/null", "w");
  OtherRun other(path, {cpu});
  settings.when_busy = WhenBusy::share;
  ScriptedHost host;
  EXPECT_THAT(hold_devices(devices, settings, "", host, out).shared, ElementsAre("cpu"));
  settings.when_busy = WhenBusy::refuse;
  EXPECT_THROW(hold_devices(devices, settings, "", host, out), Error);
  settings.when_busy = WhenBusy::wait;
  ScriptedHost impatient;
  impatient.interrupt_at = 3'000'000'000;
  EXPECT_TRUE(hold_devices(devices, settings, "", impatient, out).interrupted);
  other.end();
  const HeldDevices held = hold_devices(devices, settings, "", host, out);
  EXPECT_TRUE(held.locks);
  EXPECT_FALSE(held.interrupted);
  settings.folder = "/dev/null/none";
  EXPECT_FALSE(hold_devices(devices, settings, "", host, out).locks) << "it is told, and the run goes on";
  std::fclose(out);
}

}  // namespace
}  // namespace deepgap
