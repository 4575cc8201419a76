#include "trireme/run/train.hpp"

#include "run/backend.hpp"
#include "trireme/setup/device_choice.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/profile_choice.hpp"

namespace trireme {
namespace {

Ending run_on(Backend& backend, const Session& session, Communicator& control) {
    if (backend.parts().job.config.run.dry_run) {
        backend.show_plan();
        return Ending::done;
    }
    return run_steps(backend, session, control);
}

}  // namespace

Ending train(const RunConfig& given, Session& session, StopSignals* signals) {
    Stopping stopping(given, signals);
    Watchdog watchdog(session, given.run.stall_timeout);
    const auto control = session.all_ranks("control", watchdog.patience());
    const RunConfig config =
        with_profiles_of_ranks(with_device_of_ranks(given, session, *control), session, *control);
    if (is_of_ghosts(config))
        return run_on(*ghost_backend(config, session, *control, watchdog.patience()), session, *control);
    Continuation continuation(session.rank() == 0 ? signals : nullptr);
    const auto backend = real_backend(config, {session, *control, watchdog, stopping, continuation}, signals);
    const MessagesOfScope messages(watchdog.postman());
    try {
        return run_on(*backend, session, *control);
    } catch (const ResourceError& error) {
        throw ResourceError(continuation.after(error.what()), error.where());
    }
}

}  // namespace trireme
