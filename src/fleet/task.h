// The work of a node: one task of a fleet.
//
// It measures into a Store on the node's own disk and hands in what is there every few seconds, as Stores of the Records since the last
// time, copied to the shared folder under another name and renamed: a node that dies loses what it was measuring and what it measured
// since. An attempt leaves out what earlier ones have handed in. The last hand-in is one Store of the whole task, which takes the place of
// the parts.
#pragma once

#include "fleet/fleet.h"
#include "run/device_locks.h"

#include <cstdio>
#include <string>

namespace deepgap {

// Exit codes of a task, besides those of every command: from sysexits.h, so that a script can distinguish them.
enum TaskExit {
  task_not_handed_in = 74,  // EX_IOERR: the shared disk is full or gone; the Store is kept on the node
  task_goes_on = 75         // EX_TEMPFAIL: ended in order before its end; begun again it goes on where it was
};

struct TaskSettings {
  std::string work;      // folder on the node's own disk for its Store; empty: $TMPDIR, else /tmp
  int tries = 6;         // tries for the last hand-in, one second after the first, two after the second, and so on
  LockSettings locks{};  // locks for its node's devices; by default nothing is locked
  std::FILE* progress = stderr;
};

// Returns the name of this node: the scheduler's name for it, else the host's.
std::string node_name();

// Returns an exit code; whatever went wrong is in the attempt's file, and on standard error.
int run_task(const Fleet& fleet, int task, const TaskSettings& settings);

// Checks whether deepgap runs on this node at all, as the first of its kind to be asked: it starts, sees the fleet's folder, has the CPUs,
// and can do something of the task. Reports what is wrong on standard error and in probe_file(); 0: nothing.
int probe_node(const Fleet& fleet, int task, const TaskSettings& settings);
std::string probe_file(const Fleet& fleet, int task);

}  // namespace deepgap
