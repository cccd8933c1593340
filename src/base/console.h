// Standard output and standard error as a long measurement needs them: text for people is dropped if it cannot be written; output for
// programs that cannot be written is an error that the exit code shows. Main thread.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace deepgap {

// Opens closed descriptors out of the first three, so that reading and writing them fail. Must be called before anything is opened: a
// closed one would become that of the next file, and what is printed would go there.
void hold_standard_descriptors();

// Texts have "±", which is shown as "+/-" where the locale (LC_ALL, LC_CTYPE, LANG) is not one of UTF-8.
std::string for_locale(std::string_view text);

// Writes to people; the text is lost without an error where `out` is closed, full or a pipe that nobody reads.
void say(std::FILE* out, std::string_view text) noexcept;

// Writes to standard output as fmt::print() does, without what a terminal would obey: for texts that quote files, Stores among them, which
// others may have made (printable_lines() of words.h).
void print_text(std::string_view text);

// Throws std::system_error where a part of standard output did not reach it, as fmt::print() does.
void flush_standard_output();

// Ends the process as SIGPIPE does by default: the reader had enough, which is nobody's fault.
[[noreturn]] void end_by_closed_pipe();

}  // namespace deepgap
