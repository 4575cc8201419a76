#include "trireme/setup/profile_choice.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/plan/profile.hpp"
#include "trireme/setup/simulated_device.hpp"

namespace trireme::setup {
namespace {

bool is_for_others(const config::ProfileFile& file) { return !file.ranks; }

// True if device names are needed to choose a rank's file from several.
bool asks_for_devices(const std::vector<config::ProfileFile>& files) {
    return std::ranges::count_if(files, is_for_others) > 1;
}

void check_is_in_job(const config::ProfileFile& file, std::size_t ranks) {
    if (static_cast<std::size_t>(file.ranks->last) < ranks) return;
    throw ConfigError(cat("--profile ", to_string(file), " names rank ", file.ranks->last, ", and the job has ",
                          ranks, ranks == 1 ? " rank" : " ranks", "; name ranks from 0 to ", ranks - 1));
}

// Returns per rank the file that names it, or null.
std::vector<const config::ProfileFile*> named_files(const std::vector<config::ProfileFile>& files,
                                                    std::size_t ranks) {
    std::vector<const config::ProfileFile*> of_ranks(ranks, nullptr);
    for (const config::ProfileFile& file : files) {
        if (is_for_others(file)) continue;
        check_is_in_job(file, ranks);
        for (int rank = file.ranks->first; rank <= file.ranks->last; ++rank) {
            const config::ProfileFile*& known = of_ranks[static_cast<std::size_t>(rank)];
            if (known != nullptr) {
                throw ConfigError(cat("--profile names rank ", rank, " twice: ", to_string(*known), " and ",
                                      to_string(file), "; keep one of them"));
            }
            known = &file;
        }
    }
    return of_ranks;
}

std::vector<int> ranks_without(const std::vector<const config::ProfileFile*>& of_ranks) {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
        if (of_ranks[rank] == nullptr) ranks.push_back(static_cast<int>(rank));
    }
    return ranks;
}

// Returns the first interval of consecutive ranks.
config::RankSpan first_span(const std::vector<int>& ranks) {
    std::size_t count = 1;
    while (count < ranks.size() && ranks[count] == ranks.front() + static_cast<int>(count)) ++count;
    return {ranks.front(), ranks[count - 1]};
}

// Returns the indices of the files without ranks, by the device that each was measured on.
std::map<std::string, std::size_t> files_by_device(const std::vector<config::ProfileFile>& files) {
    std::map<std::string, std::size_t> by_device;
    for (std::size_t f = 0; f < files.size(); ++f) {
        if (!is_for_others(files[f])) continue;
        const std::string& path = files[f].path;
        const plan::Profile profile = plan::profile_from_json(read_regular_file(path, "--profile"), path);
        const auto [known, is_new] = by_device.emplace(profile.machine, f);
        if (is_new) continue;
        throw ConfigError(cat("--profile names ", files[known->second].path, " and ", path,
                              ", and both were measured on '", profile.machine,
                              "'; keep one of them, or assign them to ranks: 0-3=", path));
    }
    return by_device;
}

// Throws ConfigError for a device without a file. `left` are the ranks that no file names.
[[noreturn]] void refuse_device(const std::string& device, const std::vector<std::string>& devices,
                                const std::vector<int>& left, const std::map<std::string, std::size_t>& known) {
    std::vector<int> ranks;
    for (const int rank : left) {
        if (devices[static_cast<std::size_t>(rank)] == device) ranks.push_back(rank);
    }
    std::string names;
    for (const auto& [name, file] : known) names += cat(names.empty() ? "'" : " and '", name, '\'');
    throw ConfigError(cat("--profile names no file for the device of ", layout::text_of_ranks(ranks), ", '",
                          device, "' (those given are for ", names, "); add one that was measured there, or ",
                          to_string(first_span(ranks)), "=FILE"));
}

// Returns one file entry per interval of ranks with the same file.
std::vector<config::ProfileFile> with_ranks(const std::vector<config::ProfileFile>& files,
                                            const std::vector<std::size_t>& of_ranks) {
    std::vector<config::ProfileFile> by_ranks;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
        const int number = static_cast<int>(rank);
        if (rank > 0 && of_ranks[rank] == of_ranks[rank - 1]) {
            by_ranks.back().ranks->last = number;
        } else {
            by_ranks.push_back({files[of_ranks[rank]].path, config::RankSpan{number, number}});
        }
    }
    return by_ranks;
}

std::vector<std::size_t> files_of_ranks(const std::vector<config::ProfileFile>& files,
                                        const std::vector<std::string>& devices) {
    const std::vector<const config::ProfileFile*> by_rank = named_files(files, devices.size());
    const std::map<std::string, std::size_t> by_device = files_by_device(files);
    std::vector<std::size_t> of_ranks;
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
        const auto found = by_device.find(devices[rank]);
        const config::ProfileFile* const named = by_rank[rank];
        if (named == nullptr && found == by_device.end())
            refuse_device(devices[rank], devices, ranks_without(by_rank), by_device);
        of_ranks.push_back(named ? static_cast<std::size_t>(named - files.data()) : found->second);
    }
    return of_ranks;
}

std::vector<std::string> simulated_names(const config::RunConfig& config, int ranks) {
    const SimulatedDevices devices = *simulated_devices(config, ranks);
    std::vector<std::string> names;
    for (int rank = 0; rank < ranks; ++rank) names.push_back(devices.of(rank).name);
    return names;
}

}  // namespace

void check_profile_files(const std::vector<config::ProfileFile>& files) {
    for (const config::ProfileFile& file : files)
        plan::profile_from_json(read_regular_file(file.path, "--profile"), file.path);
}

void check_profile_ranks(const std::vector<config::ProfileFile>& files, int ranks) {
    const std::vector<int> left = ranks_without(named_files(files, static_cast<std::size_t>(ranks)));
    if (asks_for_devices(files)) {
        throw ConfigError(
            cat("--profile names ", std::ranges::count_if(files, is_for_others),
                " files without ranks, and no devices are known here by which to assign them; name the "
                "ranks: 0-3=",
                files.front().path, ",4-7=", files.back().path));
    }
    if (files.empty() || left.empty() || std::ranges::any_of(files, is_for_others)) return;
    throw ConfigError(cat("--profile names no file for ", layout::text_of_ranks(left), "; add ",
                          to_string(first_span(left)), "=FILE, or a file without ranks, for all others"));
}

std::vector<config::ProfileFile> files_for_devices(const std::vector<config::ProfileFile>& files,
                                                   const std::vector<std::string>& devices) {
    return with_ranks(files, files_of_ranks(files, devices));
}

config::RunConfig with_profiles_of_ranks(config::RunConfig config, const comm::Session& session,
                                         comm::Communicator& control) {
    std::vector<config::ProfileFile>& files = config.costs.profiles;
    if (!asks_for_devices(files)) return config;
    const bool are_gpus = config.precision.device == config::DeviceKind::cuda;
    std::vector<std::string> devices =
        gather_all(control, are_gpus ? device::gpu_in_use().name : device::processor_name());
    std::ostringstream numbers;
    agree(control, [&] {
        if (session.rank() != 0) return;
        if (!config.costs.cluster.empty()) devices = simulated_names(config, session.size());
        for (const std::size_t file : files_of_ranks(files, devices)) numbers << file << ' ';
    });
    std::istringstream told(gather_all(control, numbers.str()).front());
    std::vector<std::size_t> of_ranks;
    for (std::size_t file = 0; told >> file;) of_ranks.push_back(file);
    files = with_ranks(files, of_ranks);
    return config;
}

}  // namespace trireme::setup
