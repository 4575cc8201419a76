#include "trireme/run/train.hpp"

#include "run/backend.hpp"
#include "trireme/setup/device_choice.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/profile_choice.hpp"

namespace trireme::run {
namespace {

// `tracing` must outlive the backend, whose threads write to it. It is constructed here, after the backend.
Ending run_on(Backend& backend, std::optional<rank::Tracing>& tracing, const comm::Session& session,
              comm::Communicator& control) {
    if (backend.parts().job.config.run.dry_run) {
        backend.show_plan();
        return Ending::done;
    }
    tracing.emplace(backend.parts().job.config.run.trace, control);
    return run_steps(backend, *tracing, session, control);
}

}  // namespace

Ending train(const config::RunConfig& given, comm::Session& session, device::StopSignals* signals) {
    rank::Stopping stopping(given, signals);
    rank::Watchdog watchdog(session, given.run.stall_timeout);
    const auto control = session.all_ranks("control", watchdog.patience());
    const config::RunConfig config =
        setup::with_profiles_of_ranks(setup::with_device_of_ranks(given, session, *control), session, *control);
    std::optional<rank::Tracing> tracing;
    if (setup::is_of_ghosts(config)) {
        const auto backend = ghost_backend(config, session, *control, watchdog.patience());
        return run_on(*backend, tracing, session, *control);
    }
    Continuation continuation(session.rank() == 0 ? signals : nullptr);
    const auto backend = real_backend(config, {session, *control, watchdog, stopping, continuation}, signals);
    const comm::MessagesOfScope messages(watchdog.postman());
    try {
        return run_on(*backend, tracing, session, *control);
    } catch (const ResourceError& error) {
        throw ResourceError(continuation.after(error.what()), error.where());
    }
}

}  // namespace trireme::run
