// What a program's file says about whether a preloaded library can serve it, for `libcoll run`.
#pragma once

#include <string>
#include <vector>

namespace libcoll::command {

/// The executable file that the shell would run; empty when there is none.
std::string find_program(const std::string& program);

/// Why nothing of the program can be intercepted, as a sentence; empty where nothing speaks against it, or the file is
/// no ELF executable of this machine (a script, say). `path` is looked up as the shell does.
std::string preload_obstacle(const std::string& path);

/// The program among a launcher's arguments: the first of them that is an executable file. Empty where none is.
std::string program_among(const std::vector<std::string>& arguments);

}  // namespace libcoll::command
