#include "trireme/tools/profile.hpp"

#include <fmt/format.h>

#include <fstream>
#include <optional>

#include "tools/profile/measurements.hpp"
#include "trireme/archive/partial_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::tools {
namespace {

std::string make_title(const ProfileSubject& subject) {
    const std::size_t samples = subject.batch.segments.size();
    const int threads = subject.threads();
    return fmt::format("{} in {}, {} rows in a micro-batch of {} sample{}, {} thread{}\n\n", subject.model.name,
                       to_string(subject.dtype), subject.batch.rows(), samples, samples == 1 ? "" : "s",
                       threads, threads == 1 ? "" : "s");
}

std::string format_layer_line(const plan::LayerProfile& layer) {
    const auto ms = [](double seconds) { return 1e3 * seconds; };
    const auto mb = [](std::size_t bytes) { return 1e-6 * static_cast<double>(bytes); };
    return fmt::format("{:<10}  {:11.2f}  {:11.2f}  {:>15}  {:9.2f}  {:14.1f}  {:13.1f}\n", layer.name,
                       ms(layer.forward), ms(layer.backward),
                       fmt::format("{:.2f}+{:.2f}", ms(layer.backward_input), ms(layer.backward_weight)),
                       ms(layer.update), mb(layer.activation), mb(layer.parameters));
}

// Returns a line with the seconds of a stage that has all layers: the sums of the layers' seconds.
std::string format_sum(const plan::Profile& profile) {
    double pass_seconds = 0;
    double update_seconds = 0;
    for (const plan::LayerProfile& layer : profile.layers) {
        pass_seconds += layer.forward + layer.backward;
        update_seconds += layer.update;
    }
    return fmt::format("all {} layers: {:.3f} s for a micro-batch, {:.3f} s for an update\n",
                       profile.layers.size(), pass_seconds, update_seconds);
}

std::string format_links(const std::vector<layout::LinkLevel>& links) {
    std::string text;
    for (const layout::LinkLevel& level : links) {
        const std::string joined_ranks =
            level.ranks > 0 ? fmt::format("groups of {} ranks", level.ranks) : "all ranks";
        text += fmt::format("link among {}: {:.2f} us, {:.2f} GB/s\n", joined_ranks, 1e6 * level.link.latency,
                            1e-9 * level.link.bandwidth);
    }
    return text;
}

// Returns the headings, one line per measured layer, a line with sums, and one line per link.
std::string format_table(const plan::Profile& profile) {
    std::string table =
        "layer        forward ms  backward ms  input+weight ms  update ms  activations MB  parameters MB\n";
    for (std::size_t l = 0; l < profile.layers.size(); ++l) {
        const bool is_measured_layer = profile.layers[l].measured == l;
        if (is_measured_layer) table += format_layer_line(profile.layers[l]);
    }
    return table + format_sum(profile) + format_links(profile.links);
}

void write_profile(const std::string& text, archive::PartialFile file) {
    std::ofstream out(file.partial_path(), std::ios::binary);
    out << text << std::flush;
    if (!out) {
        throw ResourceError(cat(file.final_path().string(), " could not be written; is the disk full?"));
    }
    out.close();
    file.commit(text.size());
}

}  // namespace

void profile(const ProfileConfig& config, const ProfileSubject& subject, std::ostream& out) {
    const auto single_rank = comm::make_single_rank_group("profile");
    const std::vector<int> nodes{0};
    profile(config, subject, {.all = *single_rank, .nodes = nodes}, out);
}

void profile(const ProfileConfig& config, const ProfileSubject& subject, const ProfileRanks& ranks,
             std::ostream& out) {
    comm::Communicator& all = ranks.all;
    std::optional<archive::PartialFile> file;  // on rank 0 only
    run_or_fail_together(all, [&] {
        if (all.rank() == 0) file.emplace(config.output);
    });
    const auto print = [&](const std::string& text) {
        if (all.rank() == 0 && !config.quiet) out << text << std::flush;
    };
    print(make_title(subject));
    barrier(all);
    Progress progress("profile", "measurements",
                      static_cast<double>(count_measurements(subject.model, config.repeats)),
                      config.quiet || all.rank() != 0);
    ProfileSubject subject_with_progress = subject;
    subject_with_progress.progress = &progress;
    plan::Profile profile = measure_profile(subject_with_progress, config.repeats);
    progress.finish();
    barrier(all);
    if (all.size() > 1) profile.links = measure_links(all, ranks.nodes, config.repeats);
    print(format_table(profile));
    if (!file) return;
    write_profile(to_json(profile), std::move(*file));
    print(fmt::format("the profile is in {}\n", config.output));
}

// The stall limit is an hour, because fast ranks wait until the slowest rank has measured its layers.
void profile(const ProfileConfig& config, const ProfileSubject& subject, const comm::Session& session,
             std::ostream& out) {
    const auto all = session.make_group_of_all_ranks("profile", {});
    constexpr double stall_seconds = 3600;
    all->set_stall_seconds(stall_seconds);
    profile(config, subject, {.all = *all, .nodes = session.nodes()}, out);
}

}  // namespace trireme::tools
