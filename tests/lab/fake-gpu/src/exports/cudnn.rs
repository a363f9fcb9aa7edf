//! Of cuDNN its version alone.

use crate::gpu::Driver;

#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetVersion() -> usize {
    let driver = Driver::enter();
    let version = driver.config.cudnn as usize;
    driver.leave();
    version
}
