#include "app/profile_command.hpp"

#include "trireme/rank/specimen.hpp"

namespace trireme::app {

void measure(const ProfileCommand& command, const Session& session, std::ostream& out) {
    const Specimen specimen(measured_on(command.run, session));
    profile(command.profile,
            {.model = specimen.model(),
             .batch = specimen.batch(),
             .dtype = specimen.dtype(),
             .optimizer = command.run.optimizer,
             .stream = specimen.stream()},
            session, out);
}

}  // namespace trireme::app
