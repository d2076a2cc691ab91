#pragma once

namespace laneway {

/// progress_all for calls that find nothing and are made of many things one after another: not again within a
/// microsecond, in which nothing more would come.
void progress_now_and_then();

}  // namespace laneway
