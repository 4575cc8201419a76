// Facts of machines that a test describes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tools/doctor/findings.hpp"

namespace trireme::tools::doctor {

// Returns the facts of hosts "n0", "n1" and so on with `ranks_of_host` ranks each. Each rank has a core of its
// own.
inline Facts make_facts(int hosts, int ranks_of_host) {
    Facts facts{
        .compiler = "GNU 12.2.0", .hdf5 = "1.10.8", .matmul_library = "oneDNN 2.6.3", .scratch = "/scratch"};
    facts.start = {.launcher = Launcher::mpirun_of_open_mpi, .process_count = hosts * ranks_of_host};
    for (int rank = 0; rank < hosts * ranks_of_host; ++rank) {
        const int host = rank / ranks_of_host;
        RankFacts own{.program = "0.1.0 (2e29447)",
                      .mpi_library = "Open MPI v4.1.4",
                      .host = "n" + std::to_string(host),
                      .processor = "AMD EPYC",
                      .node = host * ranks_of_host,
                      .cores = {rank % ranks_of_host},
                      .node_cores = ranks_of_host,
                      .flops = 1e11,
                      .node_bytes = 64e9,
                      .available_bytes = 60e9};
        if (own.node == rank)
            own.scratch = ScratchFacts{.written_bytes_per_s = 8e8, .read_bytes_per_s = 2e9, .free_bytes = 5e11};
        facts.ranks.push_back(own);
    }
    return facts;
}

inline Finding finding(const Facts& facts, const std::string& name) {
    const std::vector<Finding> all = judge_facts(facts);
    const auto found = std::ranges::find(all, name, &Finding::name);
    return found == all.end() ? Finding{.name = "none of that name"} : *found;
}

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace trireme::tools::doctor
