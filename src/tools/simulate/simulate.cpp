#include "trireme/tools/simulate.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "tools/simulate/platform.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::tools {
namespace {

namespace fs = std::filesystem;

plan::Cluster read_cluster(const SimulateConfig& config) {
    plan::Cluster cluster = plan::parse_cluster(read_regular_file(config.cluster, "--cluster"), config.cluster);
    return config.is_network_free ? remove_network_cost(std::move(cluster)) : cluster;
}

std::string find_simulator_program() {
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "trireme-sim";
    if (fs::exists(program)) return program.string();
    throw ResourceError(
        cat(program.string(),
            " does not exist; build Trireme where SimGrid is installed (Debian: libsimgrid-dev)"));
}

// Writes `text` to an unnamed file in memory, and returns a path to the file. This process can read the file,
// and so can the programs that replace this process or that it starts. The file vanishes when the last of these
// processes ends.
std::string write_unnamed_file(const std::string& text) {
    const int file = ::memfd_create("trireme", 0);
    const bool is_written =
        file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!is_written)
        throw ResourceError(
            cat("the files of the simulation cannot be written to memory: ", std::strerror(errno)));
    return cat("/proc/self/fd/", file);
}

// Returns the path of the program (smpimain) that the shell script smpirun starts. The caller starts the
// program without the script, because the script would add two lines to the message of every failed run.
std::string find_launcher(const std::string& search_path) {
    const auto script = find_command(search_path, "smpirun");
    if (!script)
        throw ResourceError(
            "smpirun, which runs simulations, is not on PATH; install SimGrid (Debian: libsimgrid-dev)");
    const std::string text = read_regular_file(script->string());
    constexpr std::string_view program_name = "/smpimain";
    const std::size_t end = text.find(program_name);
    const std::size_t begin = end == std::string::npos ? end : text.find_last_of(" \"\n", end);
    if (begin == std::string::npos)
        throw ResourceError(cat(script->string(), " does not start smpimain; install SimGrid 3.32 or newer"));
    return text.substr(begin + 1, end + program_name.size() - begin - 1);
}

// Returns the launcher and its arguments. With these options, simulated time passes only for messages and for
// the kernels that the program charges. Polling for messages takes no simulated time. The options for precision
// and for network/model:SMPI are those of smpirun; if an option is set twice, the later setting counts. Ranks
// get no copies of global variables (privatization:no), because the program has no global variables.
std::vector<std::string> make_command_line(const SimulateConfig& config, const plan::Cluster& cluster) {
    const std::string hosts = make_host_file(cluster, config.ranks);
    std::vector<std::string> arguments{find_launcher(config.search_path),
                                       find_simulator_program(),
                                       "--cfg=smpi/privatization:no",
                                       cat("--cfg=smpi/np:", config.ranks),
                                       cat("--cfg=smpi/hostfile:", write_unnamed_file(hosts)),
                                       "--cfg=surf/precision:1e-9",
                                       "--cfg=network/model:SMPI",
                                       "--log=root.thresh:critical",
                                       "--cfg=network/model:CM02",
                                       "--cfg=network/TCP-gamma:0",
                                       "--cfg=network/crosstraffic:0",
                                       "--cfg=network/loopback-lat:0",
                                       "--cfg=smpi/simulate-computation:no",
                                       "--cfg=smpi/host-speed:1Gf",
                                       "--cfg=smpi/test:0",
                                       "--cfg=smpi/coll-selector:ompi",
                                       "--cfg=smpi/bcast:binomial_tree"};
    // The plugin computes the energy of devices with clocks from their watts in the platform file.
    if (has_clocks(cluster)) arguments.push_back("--cfg=plugin:host_energy");
    for (const std::string& argument : {write_unnamed_file(make_platform_file(cluster)), std::string("train"),
                                        std::string("--config"), write_unnamed_file(config.train_options)})
        arguments.push_back(argument);
    return arguments;
}

}  // namespace

// The options of `train` are passed in a file, because SimGrid would take options that begin with --cfg or
// --log as its own.
void simulate(const SimulateConfig& config) {
    std::vector<std::string> arguments = make_command_line(config, read_cluster(config));
    std::vector<char*> argument_pointers;
    for (std::string& argument : arguments) argument_pointers.push_back(argument.data());
    argument_pointers.push_back(nullptr);
    std::cout.flush();
    ::execv(argument_pointers.front(), argument_pointers.data());
    throw ResourceError(cat(arguments.front(), ", which runs simulations, cannot be started: ",
                            std::strerror(errno), "; install SimGrid (Debian: libsimgrid-dev)"));
}

}  // namespace trireme::tools
