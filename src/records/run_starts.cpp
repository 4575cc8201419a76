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

// Counts the consecutive starts at the end of `file` that belong to this job and began after `completed_steps`
// steps. Lines that are not records, such as a truncated line, are ignored.
std::size_t count_starts_without_progress(const std::filesystem::path& file, const SlurmJob& job,
                                          std::size_t completed_steps) {
    std::size_t count = 0;
    std::ifstream lines(file);
    lines.exceptions(std::ios::badbit);  // lack of memory is an error, not the end of the file
    for (std::string line; std::getline(lines, line);) {
        const auto record = try_parse_json<nlohmann::json>(line);
        if (!record || !record->is_object()) continue;
        const auto start = try_read_record<StartLine>(*record);
        const bool made_no_progress = start && start->job == job.id && start->after_step == completed_steps;
        count = made_no_progress ? count + 1 : 0;
    }
    return count;
}

}  // namespace

void record_start(const std::filesystem::path& file, const SlurmJob& job, std::size_t completed_steps) {
    const std::size_t starts_without_progress =
        job.restarts > 0 ? count_starts_without_progress(file, job, completed_steps) : 0;
    if (starts_without_progress >= max_starts_without_progress) {
        throw ConfigError(
            cat("Slurm's job ", job.id, " was started ", starts_without_progress, " times after step ",
                completed_steps,
                " and never got further; find the cause in the log of the job, give it more --time or another "
                "node, and remove ",
                file.string(), " before you start it again"));
    }
    StartLine start{.started = format_now(), .job = job.id, .after_step = completed_steps};
    if (!job.id.empty()) start.restarts = job.restarts;
    std::ofstream out(file, std::ios::app);
    out << to_json(start).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n'
        << std::flush;
    if (!out) throw ResourceError(cat(file.string(), " could not be written; is the disk full?"));
}

}  // namespace trireme::records
