#include "records/run_starts.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/records/run_directory.hpp"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

// How many starts at the end of the file were this job's and began behind as many steps. What is no record,
// such as a line that was not written to its end, is none of them.
std::size_t starts_in_vain(const std::filesystem::path& file, const SlurmJob& job, std::size_t first_step) {
    std::size_t count = 0;
    std::ifstream lines(file);
    lines.exceptions(std::ios::badbit);  // no memory is an error, not the end of the file
    for (std::string line; std::getline(lines, line);) {
        const auto record = try_parse_json<Json>(line, file.string());
        if (!record || !record->is_object()) continue;
        const bool is_in_vain = record->value("job", Json()) == Json(job.id) &&
                                record->value("behind_step", Json()) == Json(first_step);
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
    Json record{{"started", now_text()}};
    if (!job.id.empty()) {
        record["job"] = job.id;
        record["restarts"] = job.restarts;
    }
    record["behind_step"] = first_step;
    std::ofstream out(file, std::ios::app);
    out << record.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n' << std::flush;
    if (!out) throw ResourceError(cat(file.string(), " could not be written; is the disk full?"));
}

}  // namespace trireme
