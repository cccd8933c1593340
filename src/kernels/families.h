// Assigns a kernel to a family by rules in a file (families.toml): a program has hundreds of kernels, a reader thinks in a dozen.
#pragma once

#include "kernels/trace.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

class Families {
 public:
  // The rules that come with deepgap; `own`: the text of a user's file, whose rules come before them. Throws Error{input} naming `path`
  // where it is none.
  explicit Families(std::string_view own = {}, const std::string& path = {});
  ~Families();
  Families(Families&&) noexcept;
  Families& operator=(Families&&) noexcept;

  // Returns "other" if no rule fits. `op`: operator of the layer, empty if that is not known.
  std::string of(const std::string& kernel, const std::string& op) const;
  void assign(Trace& trace) const;

 private:
  struct Rule;
  std::vector<Rule> rules_;
};

// Returns "sm90_xmma_fprop" rather than three lines of template arguments: for a reader's table.
std::string short_kernel_name(const std::string& name);

}  // namespace deepgap
