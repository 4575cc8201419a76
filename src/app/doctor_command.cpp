#include "app/doctor_command.hpp"

#include "trireme/config/config.hpp"
#include "trireme/rank/specimen.hpp"

namespace trireme::app {

ExitCode examine(const DoctorConfig& config, const Surroundings& process, const Session& session,
                 std::ostream& out) {
    RunConfig run;
    run.job = process.job;
    const DoctorPlace place{.job = process.job,
                            .start = process.start,
                            .search_path = process.search_path,
                            .session = session,
                            .threads = threads_of_rank(run, session)};
    return trireme::examine(config, place, out);
}

}  // namespace trireme::app
