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

bool has_no_ranks(const config::ProfileFile& file) { return !file.ranks; }

// True if several files name no ranks: device names then decide which of these files a rank uses.
bool needs_device_names(const std::vector<config::ProfileFile>& files) {
    return std::ranges::count_if(files, has_no_ranks) > 1;
}

// Throws ConfigError if the file names a rank that the job does not have. The file must name ranks.
void check_rank_span(const config::ProfileFile& file, std::size_t ranks) {
    if (static_cast<std::size_t>(file.ranks->last) < ranks) return;
    throw ConfigError(cat("--profile ", to_string(file), " names rank ", file.ranks->last, ", but the job has ",
                          ranks, ranks == 1 ? " rank" : " ranks", "; name ranks from 0 to ", ranks - 1));
}

// Returns per rank a pointer to the element of `files` that names the rank, or null. Throws ConfigError if two
// files name the same rank, or if a file names a rank that the job does not have.
std::vector<const config::ProfileFile*> find_file_per_rank(const std::vector<config::ProfileFile>& files,
                                                           std::size_t ranks) {
    std::vector<const config::ProfileFile*> file_per_rank(ranks, nullptr);
    for (const config::ProfileFile& file : files) {
        if (has_no_ranks(file)) continue;
        check_rank_span(file, ranks);
        for (int rank = file.ranks->first; rank <= file.ranks->last; ++rank) {
            const config::ProfileFile*& file_of_rank = file_per_rank[static_cast<std::size_t>(rank)];
            if (file_of_rank != nullptr) {
                throw ConfigError(cat("--profile names rank ", rank, " twice: ", to_string(*file_of_rank),
                                      " and ", to_string(file), "; keep one of them"));
            }
            file_of_rank = &file;
        }
    }
    return file_per_rank;
}

std::vector<int> list_ranks_without_file(const std::vector<const config::ProfileFile*>& file_per_rank) {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < file_per_rank.size(); ++rank) {
        if (file_per_rank[rank] == nullptr) ranks.push_back(static_cast<int>(rank));
    }
    return ranks;
}

// Returns the first interval of consecutive ranks in `ranks`. `ranks` is ascending and not empty.
config::RankSpan find_first_span(const std::vector<int>& ranks) {
    std::size_t count = 1;
    while (count < ranks.size() && ranks[count] == ranks.front() + static_cast<int>(count)) ++count;
    return {ranks.front(), ranks[count - 1]};
}

// Returns the indices in `files` of the files that name no ranks. The key is the name of the device on which a
// file was measured. Throws ConfigError if two of these files were measured on devices of the same name.
std::map<std::string, std::size_t> find_file_by_device(const std::vector<config::ProfileFile>& files) {
    std::map<std::string, std::size_t> file_by_device;
    for (std::size_t f = 0; f < files.size(); ++f) {
        if (!has_no_ranks(files[f])) continue;
        const std::string& path = files[f].path;
        const plan::Profile profile = plan::parse_profile(read_regular_file(path, "--profile"), path);
        const auto [entry, is_new] = file_by_device.emplace(profile.machine, f);
        if (is_new) continue;
        throw ConfigError(cat("--profile names ", files[entry->second].path, " and ", path,
                              ", and both were measured on '", profile.machine,
                              "'; keep one of them, or assign them to ranks: 0-3=", path));
    }
    return file_by_device;
}

// Throws ConfigError because no file was measured on `device`. `devices` has the device name per rank, and
// `unnamed_ranks` has the ranks that no file names.
[[noreturn]] void throw_device_without_file(const std::string& device, const std::vector<std::string>& devices,
                                            const std::vector<int>& unnamed_ranks,
                                            const std::map<std::string, std::size_t>& file_by_device) {
    std::vector<int> ranks;
    for (const int rank : unnamed_ranks) {
        if (devices[static_cast<std::size_t>(rank)] == device) ranks.push_back(rank);
    }
    std::string names;
    for (const auto& [name, file] : file_by_device) names += cat(names.empty() ? "'" : " and '", name, '\'');
    throw ConfigError(cat("--profile names no file for the device of ", layout::ranks_to_string(ranks), ", '",
                          device, "' (the given files are for ", names,
                          "); add a file that was measured on it, or ", to_string(find_first_span(ranks)),
                          "=FILE"));
}

// Returns one entry per interval of consecutive ranks that use the same file, in the order of ranks.
std::vector<config::ProfileFile> make_files_with_ranks(const std::vector<config::ProfileFile>& files,
                                                       const std::vector<std::size_t>& file_index_per_rank) {
    std::vector<config::ProfileFile> files_with_ranks;
    for (std::size_t rank = 0; rank < file_index_per_rank.size(); ++rank) {
        const int rank_id = static_cast<int>(rank);
        if (rank > 0 && file_index_per_rank[rank] == file_index_per_rank[rank - 1]) {
            files_with_ranks.back().ranks->last = rank_id;
        } else {
            files_with_ranks.push_back(
                {files[file_index_per_rank[rank]].path, config::RankSpan{rank_id, rank_id}});
        }
    }
    return files_with_ranks;
}

// Returns per rank the index of its file in `files`. `devices` has the device name per rank.
std::vector<std::size_t> assign_file_indices(const std::vector<config::ProfileFile>& files,
                                             const std::vector<std::string>& devices) {
    const std::vector<const config::ProfileFile*> file_per_rank = find_file_per_rank(files, devices.size());
    const std::map<std::string, std::size_t> file_by_device = find_file_by_device(files);
    std::vector<std::size_t> file_index_per_rank;
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
        const auto found = file_by_device.find(devices[rank]);
        const config::ProfileFile* const named_file = file_per_rank[rank];
        if (named_file == nullptr && found == file_by_device.end())
            throw_device_without_file(devices[rank], devices, list_ranks_without_file(file_per_rank),
                                      file_by_device);
        file_index_per_rank.push_back(named_file ? static_cast<std::size_t>(named_file - files.data())
                                                 : found->second);
    }
    return file_index_per_rank;
}

std::vector<std::string> list_simulated_device_names(const config::RunConfig& config, int ranks) {
    const SimulatedDevices devices = *read_simulated_devices(config, ranks);
    std::vector<std::string> names;
    for (int rank = 0; rank < ranks; ++rank) names.push_back(devices.find_device(rank).name);
    return names;
}

}  // namespace

void check_profile_files(const std::vector<config::ProfileFile>& files) {
    for (const config::ProfileFile& file : files)
        plan::parse_profile(read_regular_file(file.path, "--profile"), file.path);
}

void check_profile_ranks(const std::vector<config::ProfileFile>& files, int ranks) {
    const std::vector<int> unnamed_ranks =
        list_ranks_without_file(find_file_per_rank(files, static_cast<std::size_t>(ranks)));
    if (needs_device_names(files)) {
        throw ConfigError(
            cat("--profile names ", std::ranges::count_if(files, has_no_ranks),
                " files without ranks, but this command does not know the devices of the ranks; name the "
                "ranks: 0-3=",
                files.front().path, ",4-7=", files.back().path));
    }
    if (files.empty() || unnamed_ranks.empty() || std::ranges::any_of(files, has_no_ranks)) return;
    throw ConfigError(cat("--profile names no file for ", layout::ranks_to_string(unnamed_ranks), "; add ",
                          to_string(find_first_span(unnamed_ranks)),
                          "=FILE, or a file without ranks for all other ranks"));
}

std::vector<config::ProfileFile> assign_files_to_devices(const std::vector<config::ProfileFile>& files,
                                                         const std::vector<std::string>& devices) {
    return make_files_with_ranks(files, assign_file_indices(files, devices));
}

config::RunConfig assign_profiles_to_ranks(config::RunConfig config, const comm::Session& session,
                                           comm::Communicator& control) {
    std::vector<config::ProfileFile>& files = config.costs.profiles;
    if (!needs_device_names(files)) return config;
    const bool uses_gpus = config.precision.device == config::DeviceKind::cuda;
    std::vector<std::string> devices =
        all_gather(control, uses_gpus ? device::selected_gpu().name : device::read_processor_name());
    std::ostringstream indices;
    run_or_fail_together(control, [&] {
        if (session.rank() != 0) return;
        if (!config.costs.cluster.empty()) devices = list_simulated_device_names(config, session.size());
        for (const std::size_t file : assign_file_indices(files, devices)) indices << file << ' ';
    });
    std::istringstream indices_of_rank_0(all_gather(control, indices.str()).front());
    std::vector<std::size_t> file_index_per_rank;
    for (std::size_t file = 0; indices_of_rank_0 >> file;) file_index_per_rank.push_back(file);
    files = make_files_with_ranks(files, file_index_per_rank);
    return config;
}

}  // namespace trireme::setup
