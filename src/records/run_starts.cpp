#include "records/run_starts.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/records/run_directory.hpp"

namespace trireme::records {
namespace {

// Counts the last consecutive starts of this job that began after `first_step` steps. Lines that are not
// records, such as a truncated one, are ignored.
std::size_t starts_in_vain(const std::filesystem::path& file, const SlurmJob& job, std::size_t first_step) {
    std::size_t count = 0;
    std::ifstream lines(file);
    lines.exceptions(std::ios::badbit);  // lack of memory is an error, not the end of the file
    for (std::string line; std::getline(lines, line);) {
        const auto record = try_parse_json<nlohmann::json>(line);
        if (!record || !record->is_object()) continue;
        const auto start = try_read_record<StartLine>(*record);
        const bool is_in_vain = start && start->job == job.id && start->behind_step == first_step;
        count = is_in_vain ? count + 1 : 0;
    }
    return count;
}

}  // namespace

void note_start(const std::filesystem::path& file, const SlurmJob& job, std::size_t first_step) {
    const std::size_t in_vain = job.restarts > 0 ? starts_in_vain(file, job, first_step) : 0;
    if (in_vain >= most_starts_without_progress) {
        throw ConfigError(
            cat("Slurm's job ", job.id, " was started ", in_vain, " times after step ", first_step,
                " and never got further; see in its log why it ended, give it more --time or another "
                "node, and remove ",
                file.string(), " before you start it again"));
    }
    StartLine start{.started = now_text(), .job = job.id, .behind_step = first_step};
    if (!job.id.empty()) start.restarts = job.restarts;
    std::ofstream out(file, std::ios::app);
    out << to_json(start).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n'
        << std::flush;
    if (!out) throw ResourceError(cat(file.string(), " could not be written; is the disk full?"));
}

}  // namespace trireme::records
