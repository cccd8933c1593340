#include "telemetry/near_cpus.h"

#include "telemetry/fake_root.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two sockets of four CPUs with a GPU each, and a third GPU about which the firmware says nothing.
struct NearCpus : testing::Test {
  NearCpus() {
    root.with("/sys/bus/pci/devices/0000:1b:00.0/numa_node", "0\n").with("/sys/bus/pci/devices/0000:1b:00.0/local_cpulist", "0-3\n");
    root.with("/sys/bus/pci/devices/0000:9a:00.0/numa_node", "1\n").with("/sys/bus/pci/devices/0000:9a:00.0/local_cpulist", "4-7\n");
    root.with("/sys/bus/pci/devices/0000:aa:00.0/numa_node", "-1\n").with("/sys/bus/pci/devices/0000:aa:00.0/local_cpulist", "0-7\n");
  }
  std::vector<int> cpus(Side side, const std::vector<DeviceId>& devices) const {
    return cpus_beside(side, devices, facts, allowed, root.path());
  }
  std::string refusal(Side side, const std::vector<DeviceId>& devices) const {
    try {
      cpus(side, devices);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::refused);
      return error.what();
    }
    return "no error";
  }
  static DeviceId gpu(int index) { return {"", "cuda", index}; }

  FakeRoot root;
  Facts facts{{"gpu.cuda0.pci_bus_id", std::string("0000:1b:00.0")},
              {"gpu.cuda1.pci_bus_id", std::string("0000:9a:00.0")},
              {"gpu.cuda2.pci_bus_id", std::string("0000:aa:00.0")},
              {"gpu.cuda3.pci_bus_id", std::string("not available: no permission")}};
  std::vector<int> allowed{0, 1, 2, 4, 5};
};

TEST_F(NearCpus, OfTheAllowedOnesAlone) {
  EXPECT_THAT(cpus(Side::near, {gpu(0)}), ElementsAre(0, 1, 2));
  EXPECT_THAT(cpus(Side::far, {gpu(0)}), ElementsAre(4, 5));
  EXPECT_THAT(cpus(Side::near, {gpu(1)}), ElementsAre(4, 5));
}

TEST_F(NearCpus, WhatIsNotKnownIsRefused) {
  EXPECT_THAT(refusal(Side::near, {gpu(2)}), HasSubstr("0000:aa:00.0 names no NUMA node"));
  EXPECT_THAT(refusal(Side::far, {gpu(3)}), HasSubstr("which CPUs feed cuda:3 is not known"));
  EXPECT_THAT(refusal(Side::near, {gpu(7)}), HasSubstr("which CPUs feed cuda:7 is not known"));
  EXPECT_THAT(refusal(Side::near, {gpu(0), gpu(1)}), HasSubstr("different sockets"));
}

TEST_F(NearCpus, NoCpuOnThatSideIsRefused) {
  allowed = {0, 1};
  EXPECT_THAT(refusal(Side::far, {gpu(0)}), HasSubstr("none of the 2 CPUs allowed here is off the device's socket"));
}

TEST_F(NearCpus, ACpuIsNotFedByASocket) { EXPECT_THROW(cpus(Side::near, {DeviceId{}}), Error); }

}  // namespace
}  // namespace deepgap
