#include "trireme/tools/profile.hpp"

#include <fmt/format.h>

#include <fstream>

#include "trireme/archive/partial_file.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

std::string title_of(const ProfileSubject& subject) {
    const std::size_t samples = subject.batch.segments.size();
    const int threads = subject.threads();
    return fmt::format("{} in {}, {} rows in a micro-batch of {} sample{}, {} thread{}\n\n", subject.model.name,
                       name_of(subject.dtype), subject.batch.rows(), samples, samples == 1 ? "" : "s", threads,
                       threads == 1 ? "" : "s");
}

std::string line_of(const LayerProfile& layer) {
    const auto ms = [](double seconds) { return 1e3 * seconds; };
    const auto mb = [](std::size_t bytes) { return 1e-6 * static_cast<double>(bytes); };
    return fmt::format("{:<10}  {:11.2f}  {:11.2f}  {:>13}  {:9.2f}  {:9.1f}  {:13.1f}\n", layer.name,
                       ms(layer.forward), ms(layer.backward),
                       fmt::format("{:.2f}+{:.2f}", ms(layer.backward_input), ms(layer.backward_weight)),
                       ms(layer.update), mb(layer.activation), mb(layer.parameters));
}

// As a stage of all layers would take it.
std::string sum_line(const Profile& profile) {
    double pass = 0;
    double update = 0;
    for (const LayerProfile& layer : profile.layers) {
        pass += layer.forward + layer.backward;
        update += layer.update;
    }
    return fmt::format("all {} layers: {:.3f} s for a micro-batch, {:.3f} s for an update\n",
                       profile.layers.size(), pass, update);
}

// A line for each layer that was measured.
std::string table_of(const Profile& profile) {
    std::string table =
        "layer        forward ms  backward ms      halves ms  update ms    kept MB  parameters MB\n";
    for (std::size_t l = 0; l < profile.layers.size(); ++l) {
        if (profile.layers[l].measured == l) table += line_of(profile.layers[l]);
    }
    return table + sum_line(profile);
}

void write(const std::string& text, PartialFile file) {
    std::ofstream out(file.partial_path(), std::ios::binary);
    out << text << std::flush;
    if (!out) {
        throw ResourceError(cat(file.final_path().string(), " could not be written; is the disk full?"));
    }
    out.close();
    file.keep(text.size());
}

}  // namespace

void profile(const ProfileConfig& config, const ProfileSubject& subject, std::ostream& out) {
    PartialFile file(config.output);
    const auto say = [&](const std::string& text) {
        if (!config.quiet) out << text << std::flush;
    };
    say(title_of(subject));
    const Profile profile = measure_profile(subject, config.repeats);
    say(table_of(profile));
    write(json_of(profile), std::move(file));
    say(fmt::format("the profile is {}\n", config.output));
}

}  // namespace trireme
