#include "app/profile_command.hpp"

#include "trireme/train/specimen.hpp"

namespace trireme::app {

void measure(const ProfileCommand& command, std::ostream& out) {
    const Specimen specimen(command.run);
    profile(command.profile,
            {.model = specimen.model(),
             .batch = specimen.batch(),
             .dtype = specimen.dtype(),
             .optimizer = command.run.optimizer,
             .stream = specimen.stream()},
            out);
}

}  // namespace trireme::app
